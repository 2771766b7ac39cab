#include "polybench.h"

enum { N };

/* Unknowns that are found together in the triangular solutions. */
enum { BLOCK = 64 };

/* Crout's order: row k of U, then column k of L, each from all that is known.
 * Called by all threads of a team. */
static void factorise(int n, double A[restrict n][n], double column[restrict n])
{
    for (int k = 0; k < n; k++) {
#pragma omp for nowait
        for (int p = 0; p < k; p++)
            column[p] = A[p][k];
#pragma omp for
        for (int block = k; block < n; block += COLUMNS)
            for (int p = 0; p < k; p++)
                for (int j = block; j < smaller(block + COLUMNS, n); j++)
                    A[k][j] -= A[k][p] * A[p][j];
#pragma omp for
        for (int i = k + 1; i < n; i++) {
            double rest = A[i][k];
            for (int p = 0; p < k; p++)
                rest -= A[i][p] * column[p];
            A[i][k] = rest / A[k][k];
        }
    }
}

/* L y = b, L with ones on its diagonal. Called by all threads of a team. */
static void substitute_forward(int n, double A[restrict n][n], double b[restrict n],
                               double y[restrict n])
{
#pragma omp for
    for (int i = 0; i < n; i++)
        y[i] = b[i];
    for (int block = 0; block < n; block += BLOCK) {
        int end = smaller(block + BLOCK, n);
#pragma omp single
        for (int i = block; i < end; i++)
            for (int j = block; j < i; j++)
                y[i] -= A[i][j] * y[j];
#pragma omp for
        for (int i = end; i < n; i++)
            for (int j = block; j < end; j++)
                y[i] -= A[i][j] * y[j];
    }
}

/* U x = y. Called by all threads of a team. */
static void substitute_backward(int n, double A[restrict n][n], double y[restrict n],
                                double x[restrict n])
{
#pragma omp for
    for (int i = 0; i < n; i++)
        x[i] = y[i];
    for (int end = n; end > 0; end -= BLOCK) {
        int block = larger(end - BLOCK, 0);
#pragma omp single
        for (int i = end - 1; i >= block; i--) {
            for (int j = i + 1; j < end; j++)
                x[i] -= A[i][j] * x[j];
            x[i] /= A[i][i];
        }
#pragma omp for
        for (int i = 0; i < block; i++)
            for (int j = block; j < end; j++)
                x[i] -= A[i][j] * x[j];
    }
}

static void kernel_ludcmp(int n, double A[restrict n][n], double b[restrict n],
                          double x[restrict n], double y[restrict n], double column[restrict n])
{
#pragma scop
#pragma omp parallel
    {
        factorise(n, A, column);
        substitute_forward(n, A, b, y);
        substitute_backward(n, A, y, x);
    }
#pragma endscop
}

/* A dominant diagonal, for which elimination needs no pivots. */
static void prepare(const int *n, void *const *a)
{
    dominate_diagonal(n[N], a[0]);
}

static void run(const int *n, void *const *a)
{
    kernel_ludcmp(n[N], a[0], a[1], a[2], a[3], a[4]);
}

/* The factors as in lu, then n (n - 1) forward and n^2 backward. */
static double operations(const int *n)
{
    double m = n[N] - 1.0, size = n[N];
    return 0.5 * m * size + m * size * (2.0 * m + 1.0) / 3.0 + size * m + size * size;
}

const struct polybench_kernel polybench_kernel = {
    .name = "ludcmp",
    .about = "solution of a linear system by its factors, A x = b",
    .parameter = {"n"},
    .set = {{40}, {120}, {400}, {2000}, {4000}},
    .array = {{MATRIX(N, N), .output = true},
              {VECTOR(N)},
              {VECTOR(N), .output = true},
              {VECTOR(N)},
              {VECTOR(N)}},
    .operations = operations,
    .prepare = prepare,
    .run = run,
};
