#include "polybench.h"

enum { N };

static void kernel_gesummv(int n, double alpha, double beta, double A[restrict n][n],
                           double B[restrict n][n], double x[restrict n], double y[restrict n])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double a = 0.0, b = 0.0;
        for (int j = 0; j < n; j++) {
            a += A[i][j] * x[j];
            b += B[i][j] * x[j];
        }
        y[i] = alpha * a + beta * b;
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_gesummv(n[N], 1.5, 1.2, a[0], a[1], a[2], a[3]);
}

static double operations(const int *n)
{
    double size = n[N];
    return size * (4.0 * size + 3.0);
}

const struct polybench_kernel polybench_kernel = {
    .name = "gesummv",
    .about = "sum of two products, y = alpha A x + beta B x",
    .parameter = {"n"},
    .set = {{30}, {90}, {250}, {1300}, {2800}},
    .array = {{MATRIX(N, N)}, {MATRIX(N, N)}, {VECTOR(N)}, {VECTOR(N), .output = true}},
    .operations = operations,
    .run = run,
};
