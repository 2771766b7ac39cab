#include "polybench.h"

enum { M, N };

/* A is symmetric; only its lower triangle is read. */
static void kernel_symm(int m, int n, double alpha, double beta, double C[restrict m][n],
                        double A[restrict m][m], double B[restrict m][n])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++)
            C[i][j] *= beta;
        for (int k = 0; k <= i; k++)
            for (int j = 0; j < n; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
        for (int k = i + 1; k < m; k++)
            for (int j = 0; j < n; j++)
                C[i][j] += alpha * A[k][i] * B[k][j];
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_symm(n[M], n[N], 1.5, 1.2, a[0], a[1], a[2]);
}

static double operations(const int *n)
{
    double m = n[M], columns = n[N];
    return m * (columns + m + 2.0 * m * columns);
}

const struct polybench_kernel polybench_kernel = {
    .name = "symm",
    .about = "product with a symmetric matrix, C = alpha A B + beta C",
    .parameter = {"m", "n"},
    .set = {{20, 30}, {60, 80}, {200, 240}, {1000, 1200}, {2000, 2600}},
    .array = {{MATRIX(M, N), .output = true}, {MATRIX(M, M)}, {MATRIX(M, N)}},
    .operations = operations,
    .run = run,
};
