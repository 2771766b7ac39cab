#include "polybench.h"

enum { M, N };

static void kernel_correlation(int m, int n, double data[restrict n][m], double mean[restrict m],
                               double stddev[restrict m], double corr[restrict m][m])
{
    double root_n = sqrt(n);
#pragma scop
#pragma omp parallel for
    for (int block = 0; block < m; block += COLUMNS) {
        int end = smaller(block + COLUMNS, m);
        for (int j = block; j < end; j++)
            mean[j] = stddev[j] = 0.0;
        for (int i = 0; i < n; i++)
            for (int j = block; j < end; j++)
                mean[j] += data[i][j];
        for (int j = block; j < end; j++)
            mean[j] /= n;
        for (int i = 0; i < n; i++)
            for (int j = block; j < end; j++)
                stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        for (int j = block; j < end; j++) {
            stddev[j] = sqrt(stddev[j] / n);
            /* A variable that hardly varies correlates with nothing. */
            stddev[j] = stddev[j] <= 0.1 ? 1.0 : stddev[j];
        }
    }

#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] = (data[i][j] - mean[j]) / (root_n * stddev[j]);

    /* Row i right of its diagonal, and the column that equals it. */
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < m; i++) {
        corr[i][i] = 1.0;
        for (int j = i + 1; j < m; j++)
            corr[i][j] = 0.0;
        for (int k = 0; k < n; k++)
            for (int j = i + 1; j < m; j++)
                corr[i][j] += data[k][i] * data[k][j];
        for (int j = i + 1; j < m; j++)
            corr[j][i] = corr[i][j];
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_correlation(n[M], n[N], a[0], a[1], a[2], a[3]);
}

static double operations(const int *n)
{
    double m = n[M], points = n[N];
    return m * (4.0 * points + 3.0) + 3.0 * points * m + m * (m - 1.0) * points;
}

const struct polybench_kernel polybench_kernel = {
    .name = "correlation",
    .about = "correlation matrix of m variables from n points",
    .parameter = {"m", "n"},
    .set = {{28, 32}, {80, 100}, {240, 260}, {1200, 1400}, {2600, 3000}},
    .array = {{MATRIX(N, M)}, {VECTOR(M)}, {VECTOR(M)}, {MATRIX(M, M), .output = true}},
    .operations = operations,
    .run = run,
};
