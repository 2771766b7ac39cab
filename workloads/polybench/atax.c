#include "polybench.h"

enum { M, N };

static void kernel_atax(int m, int n, double A[restrict m][n], double x[restrict n],
                        double y[restrict n], double tmp[restrict m])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < m; i++) {
        double sum = 0.0;
        for (int j = 0; j < n; j++)
            sum += A[i][j] * x[j];
        tmp[i] = sum;
    }

#pragma omp parallel for
    for (int block = 0; block < n; block += COLUMNS) {
        int end = smaller(block + COLUMNS, n);
        for (int j = block; j < end; j++)
            y[j] = 0.0;
        for (int i = 0; i < m; i++)
            for (int j = block; j < end; j++)
                y[j] += A[i][j] * tmp[i];
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_atax(n[M], n[N], a[0], a[1], a[2], a[3]);
}

static double operations(const int *n)
{
    return 4.0 * n[M] * n[N];
}

const struct polybench_kernel polybench_kernel = {
    .name = "atax",
    .about = "y = A' (A x)",
    .parameter = {"m", "n"},
    .set = {{38, 42}, {116, 124}, {390, 410}, {1900, 2100}, {1800, 2200}},
    .array = {{MATRIX(M, N)}, {VECTOR(N)}, {VECTOR(N), .output = true}, {VECTOR(M)}},
    .operations = operations,
    .run = run,
};
