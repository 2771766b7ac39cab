#include "polybench.h"

enum { N };

/* Only the upper triangle is read and written, so that all loops run along
 * rows. Rows are dealt out in small chunks because they get shorter. */
static void kernel_cholesky(int n, double A[restrict n][n])
{
#pragma scop
#pragma omp parallel
    for (int k = 0; k < n; k++) {
#pragma omp single
        {
            A[k][k] = sqrt(A[k][k]);
            for (int j = k + 1; j < n; j++)
                A[k][j] /= A[k][k];
        }
#pragma omp for schedule(static, 8)
        for (int i = k + 1; i < n; i++)
            for (int j = i; j < n; j++)
                A[i][j] -= A[k][i] * A[k][j];
    }
#pragma endscop
}

/* A dominant diagonal makes the symmetric matrix positive definite. */
static void prepare(const int *n, void *const *a)
{
    dominate_diagonal(n[N], a[0]);
}

static void run(const int *n, void *const *a)
{
    kernel_cholesky(n[N], a[0]);
}

/* Step k has m = n - 1 - k columns left: a root, m divisions and two for each
 * of the m (m + 1) / 2 elements of the rest. */
static double operations(const int *n)
{
    double size = n[N], m = size - 1.0;
    return size + 0.5 * m * (m + 1.0) + m * (m + 1.0) * (m + 2.0) / 3.0;
}

const struct polybench_kernel polybench_kernel = {
    .name = "cholesky",
    .about = "factor of a symmetric positive definite matrix in its place, A = U' U",
    .parameter = {"n"},
    .set = {{40}, {120}, {400}, {2000}, {4000}},
    .array = {{MATRIX(N, N), .output = true}},
    .operations = operations,
    .prepare = prepare,
    .run = run,
};
