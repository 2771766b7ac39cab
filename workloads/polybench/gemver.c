#include "polybench.h"

enum { N };

static void kernel_gemver(int n, double alpha, double beta, double A[restrict n][n],
                          double u1[restrict n], double v1[restrict n], double u2[restrict n],
                          double v2[restrict n], double w[restrict n], double x[restrict n],
                          double y[restrict n], double z[restrict n])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] += u1[i] * v1[j] + u2[i] * v2[j];

#pragma omp parallel for
    for (int block = 0; block < n; block += COLUMNS) {
        int end = smaller(block + COLUMNS, n);
        for (int i = 0; i < n; i++)
            for (int j = block; j < end; j++)
                x[j] += beta * A[i][j] * y[i];
        for (int j = block; j < end; j++)
            x[j] += z[j];
    }

#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int j = 0; j < n; j++)
            sum += alpha * A[i][j] * x[j];
        w[i] = sum;
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_gemver(n[N], 1.5, 1.2, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
}

static double operations(const int *n)
{
    double size = n[N];
    return size * (10.0 * size + 1.0);
}

const struct polybench_kernel polybench_kernel = {
    .name = "gemver",
    .about = "A += u1 v1' + u2 v2', x = beta A' y + x + z, w = alpha A x",
    .parameter = {"n"},
    .set = {{40}, {120}, {400}, {2000}, {4000}},
    .array = {{MATRIX(N, N), .output = true},
              {VECTOR(N)},
              {VECTOR(N)},
              {VECTOR(N)},
              {VECTOR(N)},
              {VECTOR(N), .output = true},
              {VECTOR(N), .output = true},
              {VECTOR(N)},
              {VECTOR(N)}},
    .operations = operations,
    .run = run,
};
