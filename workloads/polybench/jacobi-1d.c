#include "polybench.h"

enum { TSTEPS, N };

static void step(int n, double B[restrict n], double A[restrict n])
{
#pragma scop
#pragma omp parallel for
    for (int i = 1; i < n - 1; i++)
        B[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0;
#pragma endscop
}

/* Two steps at a time, there and back. */
static void kernel_jacobi_1d(int tsteps, int n, double A[restrict n], double B[restrict n])
{
    for (int t = 0; t < tsteps; t++) {
        step(n, B, A);
        step(n, A, B);
    }
}

static void run(const int *n, void *const *a)
{
    kernel_jacobi_1d(n[TSTEPS], n[N], a[0], a[1]);
}

static double operations(const int *n)
{
    return 2.0 * n[TSTEPS] * (n[N] - 2.0) * 3.0;
}

const struct polybench_kernel polybench_kernel = {
    .name = "jacobi-1d",
    .about = "Jacobi's relaxation on a line, one point from three",
    .parameter = {"tsteps", "n"},
    .set = {{20, 30}, {40, 120}, {100, 400}, {500, 2000}, {1000, 4000}},
    .array = {{VECTOR(N), .output = true}, {VECTOR(N)}},
    .operations = operations,
    .run = run,
};
