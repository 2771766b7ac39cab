#include "polybench.h"

enum { N };

/* Unknowns that are found together: one after the other inside the block,
 * then put into all equations below it, which are independent. */
enum { BLOCK = 64 };

static void kernel_trisolv(int n, double L[restrict n][n], double x[restrict n],
                           double b[restrict n])
{
#pragma scop
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < n; i++)
            x[i] = b[i];
        for (int block = 0; block < n; block += BLOCK) {
            int end = smaller(block + BLOCK, n);
#pragma omp single
            for (int i = block; i < end; i++) {
                for (int j = block; j < i; j++)
                    x[i] -= L[i][j] * x[j];
                x[i] /= L[i][i];
            }
#pragma omp for
            for (int i = end; i < n; i++)
                for (int j = block; j < end; j++)
                    x[i] -= L[i][j] * x[j];
        }
    }
#pragma endscop
}

/* A dominant diagonal keeps the solution bounded. */
static void prepare(const int *n, void *const *a)
{
    dominate_diagonal(n[N], a[0]);
}

static void run(const int *n, void *const *a)
{
    kernel_trisolv(n[N], a[0], a[1], a[2]);
}

static double operations(const int *n)
{
    double size = n[N];
    return size * size;
}

const struct polybench_kernel polybench_kernel = {
    .name = "trisolv",
    .about = "solution of a lower triangular system, L x = b",
    .parameter = {"n"},
    .set = {{40}, {120}, {400}, {2000}, {4000}},
    .array = {{MATRIX(N, N)}, {VECTOR(N), .output = true}, {VECTOR(N)}},
    .operations = operations,
    .prepare = prepare,
    .run = run,
};
