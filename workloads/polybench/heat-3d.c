#include "polybench.h"

enum { TSTEPS, N };

static void step(int n, double B[restrict n][n][n], double A[restrict n][n][n])
{
#pragma scop
#pragma omp parallel for collapse(2)
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                B[i][j][k] = A[i][j][k] +
                             0.125 * (A[i + 1][j][k] - 2.0 * A[i][j][k] + A[i - 1][j][k]) +
                             0.125 * (A[i][j + 1][k] - 2.0 * A[i][j][k] + A[i][j - 1][k]) +
                             0.125 * (A[i][j][k + 1] - 2.0 * A[i][j][k] + A[i][j][k - 1]);
#pragma endscop
}

/* Two steps at a time, there and back. */
static void kernel_heat_3d(int tsteps, int n, double A[restrict n][n][n],
                           double B[restrict n][n][n])
{
    for (int t = 0; t < tsteps; t++) {
        step(n, B, A);
        step(n, A, B);
    }
}

static void run(const int *n, void *const *a)
{
    kernel_heat_3d(n[TSTEPS], n[N], a[0], a[1]);
}

static double operations(const int *n)
{
    double inside = n[N] - 2.0;
    return 2.0 * n[TSTEPS] * inside * inside * inside * 15.0;
}

const struct polybench_kernel polybench_kernel = {
    .name = "heat-3d",
    .about = "heat in a cube, one point from seven",
    .parameter = {"tsteps", "n"},
    .set = {{20, 10}, {40, 20}, {100, 40}, {500, 120}, {1000, 200}},
    .array = {{GRID(N, N, N), .output = true}, {GRID(N, N, N)}},
    .operations = operations,
    .run = run,
};
