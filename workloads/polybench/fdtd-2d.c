#include "polybench.h"

enum { TSTEPS, NX, NY };

/* Electric field (ex, ey) and magnetic field hz on staggered grids, as in
 * Yee's scheme; the source sets ey on one edge. */
static void kernel_fdtd_2d(int tsteps, int nx, int ny, double ex[restrict nx][ny],
                           double ey[restrict nx][ny], double hz[restrict nx][ny])
{
#pragma scop
    for (int t = 0; t < tsteps; t++) {
#pragma omp parallel
        {
#pragma omp for nowait
            for (int j = 0; j < ny; j++)
                ey[0][j] = t;
#pragma omp for nowait
            for (int i = 1; i < nx; i++)
                for (int j = 0; j < ny; j++)
                    ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]);
#pragma omp for
            for (int i = 0; i < nx; i++)
                for (int j = 1; j < ny; j++)
                    ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
#pragma omp for
            for (int i = 0; i < nx - 1; i++)
                for (int j = 0; j < ny - 1; j++)
                    hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
        }
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_fdtd_2d(n[TSTEPS], n[NX], n[NY], a[0], a[1], a[2]);
}

static double operations(const int *n)
{
    double nx = n[NX], ny = n[NY];
    return n[TSTEPS] *
           (3.0 * (nx - 1.0) * ny + 3.0 * nx * (ny - 1.0) + 5.0 * (nx - 1.0) * (ny - 1.0));
}

const struct polybench_kernel polybench_kernel = {
    .name = "fdtd-2d",
    .about = "electromagnetic field in the plane by finite differences",
    .parameter = {"tsteps", "nx", "ny"},
    .set = {{20, 20, 30}, {40, 60, 80}, {100, 200, 240}, {500, 1000, 1200}, {1000, 2000, 2600}},
    .array = {{MATRIX(NX, NY), .output = true},
              {MATRIX(NX, NY), .output = true},
              {MATRIX(NX, NY), .output = true}},
    .operations = operations,
    .run = run,
};
