#include "polybench.h"

enum { N };

/* Right-looking elimination without pivots: once a row is final, it is taken
 * from all rows below it. */
static void kernel_lu(int n, double A[restrict n][n])
{
#pragma scop
#pragma omp parallel
    for (int k = 0; k < n; k++) {
#pragma omp for
        for (int i = k + 1; i < n; i++) {
            A[i][k] /= A[k][k];
            for (int j = k + 1; j < n; j++)
                A[i][j] -= A[i][k] * A[k][j];
        }
    }
#pragma endscop
}

/* A dominant diagonal, for which elimination needs no pivots. */
static void prepare(const int *n, void *const *a)
{
    dominate_diagonal(n[N], a[0]);
}

static void run(const int *n, void *const *a)
{
    kernel_lu(n[N], a[0]);
}

/* Step k has m = n - 1 - k rows left: m divisions, 2 m^2 for the update. */
static double operations(const int *n)
{
    double m = n[N] - 1.0;
    return 0.5 * m * (m + 1.0) + m * (m + 1.0) * (2.0 * m + 1.0) / 3.0;
}

const struct polybench_kernel polybench_kernel = {
    .name = "lu",
    .about = "factors of a matrix in its place, A = L U",
    .parameter = {"n"},
    .set = {{40}, {120}, {400}, {2000}, {4000}},
    .array = {{MATRIX(N, N), .output = true}},
    .operations = operations,
    .prepare = prepare,
    .run = run,
};
