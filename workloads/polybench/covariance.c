#include "polybench.h"

enum { M, N };

static void kernel_covariance(int m, int n, double data[restrict n][m], double mean[restrict m],
                              double cov[restrict m][m])
{
#pragma scop
#pragma omp parallel for
    for (int block = 0; block < m; block += COLUMNS) {
        int end = smaller(block + COLUMNS, m);
        for (int j = block; j < end; j++)
            mean[j] = 0.0;
        for (int i = 0; i < n; i++)
            for (int j = block; j < end; j++)
                mean[j] += data[i][j];
        for (int j = block; j < end; j++)
            mean[j] /= n;
    }

#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] -= mean[j];

    /* Row i from its diagonal on, and the column that equals it. */
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < m; i++) {
        for (int j = i; j < m; j++)
            cov[i][j] = 0.0;
        for (int k = 0; k < n; k++)
            for (int j = i; j < m; j++)
                cov[i][j] += data[k][i] * data[k][j];
        for (int j = i; j < m; j++) {
            cov[i][j] /= n - 1.0;
            cov[j][i] = cov[i][j];
        }
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_covariance(n[M], n[N], a[0], a[1], a[2]);
}

static double operations(const int *n)
{
    double m = n[M], points = n[N];
    return m * (2.0 * points + 1.0) + 0.5 * m * (m + 1.0) * (2.0 * points + 1.0);
}

const struct polybench_kernel polybench_kernel = {
    .name = "covariance",
    .about = "covariance matrix of m variables from n points",
    .parameter = {"m", "n"},
    .set = {{28, 32}, {80, 100}, {240, 260}, {1200, 1400}, {2600, 3000}},
    .array = {{MATRIX(N, M)}, {VECTOR(M)}, {MATRIX(M, M), .output = true}},
    .operations = operations,
    .run = run,
};
