#include "polybench.h"

enum { M, N };

/* A is lower triangular with ones, which are not read, on its diagonal. Row i
 * of the result needs the old rows below it, so rows go in order; the columns
 * of B are independent. */
static void kernel_trmm(int m, int n, double alpha, double A[restrict m][m],
                        double B[restrict m][n])
{
#pragma scop
#pragma omp parallel for
    for (int block = 0; block < n; block += COLUMNS) {
        int end = smaller(block + COLUMNS, n);
        for (int i = 0; i < m; i++) {
            for (int k = i + 1; k < m; k++)
                for (int j = block; j < end; j++)
                    B[i][j] += A[k][i] * B[k][j];
            for (int j = block; j < end; j++)
                B[i][j] *= alpha;
        }
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_trmm(n[M], n[N], 1.5, a[0], a[1]);
}

static double operations(const int *n)
{
    double m = n[M], columns = n[N];
    return m * columns * m;
}

const struct polybench_kernel polybench_kernel = {
    .name = "trmm",
    .about = "product with a triangular matrix, B = alpha A' B",
    .parameter = {"m", "n"},
    .set = {{20, 30}, {60, 80}, {200, 240}, {1000, 1200}, {2000, 2600}},
    .array = {{MATRIX(M, M)}, {MATRIX(M, N), .output = true}},
    .operations = operations,
    .run = run,
};
