#include "polybench.h"

enum { TSTEPS, N };

/* Rows and slanted columns of a tile. */
enum { TILE = 32 };

/* Point (i, j) needs the new values left of it and in the row above up to
 * (i - 1, j + 1). In slanted columns s = i + j these are all left or above, so
 * tiles of the (i, s) plane that lie on one anti-diagonal are independent. */
static void sweep(int n, double A[restrict n][n])
{
    int tile_rows = (n - 2 + TILE - 1) / TILE;
    int tile_columns = (2 * n - 5 + TILE - 1) / TILE;
#pragma scop
#pragma omp parallel
    for (int wave = 0; wave < tile_rows + tile_columns - 1; wave++) {
#pragma omp for
        for (int row = larger(0, wave - tile_columns + 1); row < smaller(wave + 1, tile_rows);
             row++) {
            int slant = 2 + (wave - row) * TILE;
            for (int i = 1 + row * TILE; i < smaller(1 + (row + 1) * TILE, n - 1); i++)
                for (int j = larger(1, slant - i); j < smaller(slant + TILE - i, n - 1); j++)
                    A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] +
                               A[i][j] + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] +
                               A[i + 1][j + 1]) /
                              9.0;
        }
    }
#pragma endscop
}

static void kernel_seidel_2d(int tsteps, int n, double A[restrict n][n])
{
    for (int t = 0; t < tsteps; t++)
        sweep(n, A);
}

static void run(const int *n, void *const *a)
{
    kernel_seidel_2d(n[TSTEPS], n[N], a[0]);
}

static double operations(const int *n)
{
    double inside = n[N] - 2.0;
    return n[TSTEPS] * inside * inside * 9.0;
}

const struct polybench_kernel polybench_kernel = {
    .name = "seidel-2d",
    .about = "Gauss and Seidel's relaxation on a square, one point from nine",
    .parameter = {"tsteps", "n"},
    .set = {{20, 40}, {40, 120}, {100, 400}, {500, 2000}, {1000, 4000}},
    .array = {{MATRIX(N, N), .output = true}},
    .operations = operations,
    .run = run,
};
