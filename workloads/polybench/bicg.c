#include "polybench.h"

enum { M, N };

static void kernel_bicg(int m, int n, double A[restrict n][m], double s[restrict m],
                        double q[restrict n], double p[restrict m], double r[restrict n])
{
#pragma scop
#pragma omp parallel for
    for (int block = 0; block < m; block += COLUMNS) {
        int end = smaller(block + COLUMNS, m);
        for (int j = block; j < end; j++)
            s[j] = 0.0;
        for (int i = 0; i < n; i++)
            for (int j = block; j < end; j++)
                s[j] += A[i][j] * r[i];
    }

#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int j = 0; j < m; j++)
            sum += A[i][j] * p[j];
        q[i] = sum;
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_bicg(n[M], n[N], a[0], a[1], a[2], a[3], a[4]);
}

static double operations(const int *n)
{
    return 4.0 * n[M] * n[N];
}

const struct polybench_kernel polybench_kernel = {
    .name = "bicg",
    .about = "the two products of a BiCG step, s = A' r and q = A p",
    .parameter = {"m", "n"},
    .set = {{38, 42}, {116, 124}, {390, 410}, {1900, 2100}, {1800, 2200}},
    .array = {{MATRIX(N, M)},
              {VECTOR(M), .output = true},
              {VECTOR(N), .output = true},
              {VECTOR(M)},
              {VECTOR(N)}},
    .operations = operations,
    .run = run,
};
