#include "polybench.h"

enum { M, N };

/* C is symmetric; only its lower triangle is updated. */
static void kernel_syrk(int m, int n, double alpha, double beta, double C[restrict n][n],
                        double A[restrict n][m])
{
#pragma scop
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int k = 0; k < m; k++)
                sum += A[i][k] * A[j][k];
            C[i][j] = beta * C[i][j] + alpha * sum;
        }
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_syrk(n[M], n[N], 1.5, 1.2, a[0], a[1]);
}

static double operations(const int *n)
{
    double m = n[M], rows = n[N];
    return 0.5 * rows * (rows + 1.0) * (2.0 * m + 3.0);
}

const struct polybench_kernel polybench_kernel = {
    .name = "syrk",
    .about = "symmetric update, C = alpha A A' + beta C",
    .parameter = {"m", "n"},
    .set = {{20, 30}, {60, 80}, {200, 240}, {1000, 1200}, {2000, 2600}},
    .array = {{MATRIX(N, N), .output = true}, {MATRIX(N, M)}},
    .operations = operations,
    .run = run,
};
