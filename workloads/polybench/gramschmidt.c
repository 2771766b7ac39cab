#include "polybench.h"

enum { M, N };

/* Modified Gram-Schmidt: once a column is final, its part is taken from all
 * columns right of it. R is zero below its diagonal. */
static void kernel_gramschmidt(int m, int n, double A[restrict m][n], double R[restrict n][n],
                               double Q[restrict m][n])
{
#pragma scop
#pragma omp parallel
    for (int k = 0; k < n; k++) {
#pragma omp single
        {
            double square = 0.0;
            for (int i = 0; i < m; i++)
                square += A[i][k] * A[i][k];
            R[k][k] = sqrt(square);
            for (int j = 0; j < k; j++)
                R[k][j] = 0.0;
        }
#pragma omp for
        for (int i = 0; i < m; i++)
            Q[i][k] = A[i][k] / R[k][k];
#pragma omp for
        for (int block = k + 1; block < n; block += COLUMNS) {
            int end = smaller(block + COLUMNS, n);
            for (int j = block; j < end; j++)
                R[k][j] = 0.0;
            for (int i = 0; i < m; i++)
                for (int j = block; j < end; j++)
                    R[k][j] += Q[i][k] * A[i][j];
            for (int i = 0; i < m; i++)
                for (int j = block; j < end; j++)
                    A[i][j] -= Q[i][k] * R[k][j];
        }
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_gramschmidt(n[M], n[N], a[0], a[1], a[2]);
}

static double operations(const int *n)
{
    double m = n[M], columns = n[N];
    return columns * (3.0 * m + 1.0) + 2.0 * columns * (columns - 1.0) * m;
}

/* PolyBench's extents the other way round: more columns than rows could not
 * be orthogonal, and the last ones would be made of rounding errors. */
const struct polybench_kernel polybench_kernel = {
    .name = "gramschmidt",
    .about = "orthonormal columns by modified Gram-Schmidt, A = Q R",
    .parameter = {"m", "n"},
    .set = {{30, 20}, {80, 60}, {240, 200}, {1200, 1000}, {2600, 2000}},
    .array = {{MATRIX(M, N)}, {MATRIX(N, N), .output = true}, {MATRIX(M, N), .output = true}},
    .operations = operations,
    .run = run,
};
