#include "polybench.h"

enum { N };

/* Bases are 0 to 3 for A, C, G, U; A pairs with U and C with G. */
static int pairs(int a, int b)
{
    return a + b == 3;
}

/* table[i][j] is the largest number of pairs in the bases i to j. Cells on one
 * anti-diagonal depend only on earlier ones. The table is kept symmetric, so
 * that its columns can be read along rows. */
static void kernel_nussinov(int n, int base[restrict n], int table[restrict n][n])
{
#pragma scop
#pragma omp parallel
    for (int distance = 1; distance < n; distance++) {
#pragma omp for
        for (int i = 0; i < n - distance; i++) {
            int j = i + distance;
            int best = larger(table[i][j - 1], table[i + 1][j]);
            /* Neighbours cannot bend towards each other. */
            if (distance > 1)
                best = larger(best, table[i + 1][j - 1] + pairs(base[i], base[j]));
            for (int k = i + 1; k < j; k++)
                best = larger(best, table[i][k] + table[j][k + 1]);
            table[i][j] = table[j][i] = best;
        }
    }
#pragma endscop
}

static void prepare(const int *n, void *const *a)
{
    int *base = a[0];
    int(*table)[n[N]] = a[1];
#pragma omp parallel for
    for (int i = 0; i < n[N]; i++) {
        base[i] %= 4;
        for (int j = 0; j < n[N]; j++)
            table[i][j] = 0;
    }
}

static void run(const int *n, void *const *a)
{
    kernel_nussinov(n[N], a[0], a[1]);
}

/* One for each cell, two more for each that is not next to the diagonal, and
 * two for each of the n (n - 1) (n - 2) / 6 splits i < k < j. */
static double operations(const int *n)
{
    double size = n[N];
    return 0.5 * size * (size - 1.0) + (size - 1.0) * (size - 2.0) * (1.0 + size / 3.0);
}

const struct polybench_kernel polybench_kernel = {
    .name = "nussinov",
    .about = "most pairs of bases in the folding of an RNA",
    .parameter = {"n"},
    .set = {{60}, {180}, {500}, {2500}, {5500}},
    .array = {{VECTOR(N), .element = INT}, {MATRIX(N, N), .element = INT, .output = true}},
    .unit = "integer",
    .operations = operations,
    .prepare = prepare,
    .run = run,
};
