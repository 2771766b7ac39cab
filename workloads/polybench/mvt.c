#include "polybench.h"

enum { N };

static void kernel_mvt(int n, double x1[restrict n], double x2[restrict n], double y1[restrict n],
                       double y2[restrict n], double A[restrict n][n])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double sum = x1[i];
        for (int j = 0; j < n; j++)
            sum += A[i][j] * y1[j];
        x1[i] = sum;
    }

#pragma omp parallel for
    for (int block = 0; block < n; block += COLUMNS) {
        int end = smaller(block + COLUMNS, n);
        for (int i = 0; i < n; i++)
            for (int j = block; j < end; j++)
                x2[j] += A[i][j] * y2[i];
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_mvt(n[N], a[0], a[1], a[2], a[3], a[4]);
}

static double operations(const int *n)
{
    return 4.0 * n[N] * n[N];
}

const struct polybench_kernel polybench_kernel = {
    .name = "mvt",
    .about = "products with a matrix and its transpose, x1 += A y1 and x2 += A' y2",
    .parameter = {"n"},
    .set = {{40}, {120}, {400}, {2000}, {4000}},
    .array = {{VECTOR(N), .output = true},
              {VECTOR(N), .output = true},
              {VECTOR(N)},
              {VECTOR(N)},
              {MATRIX(N, N)}},
    .operations = operations,
    .run = run,
};
