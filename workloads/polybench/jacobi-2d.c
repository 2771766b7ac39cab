#include "polybench.h"

enum { TSTEPS, N };

static void step(int n, double B[restrict n][n], double A[restrict n][n])
{
#pragma scop
#pragma omp parallel for
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j]);
#pragma endscop
}

/* Two steps at a time, there and back. */
static void kernel_jacobi_2d(int tsteps, int n, double A[restrict n][n], double B[restrict n][n])
{
    for (int t = 0; t < tsteps; t++) {
        step(n, B, A);
        step(n, A, B);
    }
}

static void run(const int *n, void *const *a)
{
    kernel_jacobi_2d(n[TSTEPS], n[N], a[0], a[1]);
}

static double operations(const int *n)
{
    double inside = n[N] - 2.0;
    return 2.0 * n[TSTEPS] * inside * inside * 5.0;
}

const struct polybench_kernel polybench_kernel = {
    .name = "jacobi-2d",
    .about = "Jacobi's relaxation on a square, one point from five",
    .parameter = {"tsteps", "n"},
    .set = {{20, 30}, {40, 90}, {100, 250}, {500, 1300}, {1000, 2800}},
    .array = {{MATRIX(N, N), .output = true}, {MATRIX(N, N)}},
    .operations = operations,
    .run = run,
};
