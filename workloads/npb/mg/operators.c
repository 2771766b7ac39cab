#include "mg.h"
#include <math.h>
#include <string.h>

/* Coefficients of the 27-point operators by the kind of neighbour: the point
 * itself, those across a face, an edge, a corner (RNR-94-007, section 3.2).
 * A has no face term, S no corner term. */
#define A_SELF (-8.0 / 3.0)
#define A_EDGE (1.0 / 6.0)
#define A_CORNER (1.0 / 12.0)
#define S_SELF NPB_BY_CLASS(-3.0 / 8.0, -3.0 / 8.0, -3.0 / 8.0, -3.0 / 17.0, -3.0 / 17.0)
#define S_FACE NPB_BY_CLASS(1.0 / 32.0, 1.0 / 32.0, 1.0 / 32.0, 1.0 / 33.0, 1.0 / 33.0)
#define S_EDGE NPB_BY_CLASS(-1.0 / 64.0, -1.0 / 64.0, -1.0 / 64.0, -1.0 / 61.0, -1.0 / 61.0)

/* For every i1 of a row, the sums over the eight rows around it: `near` of the
 * four that touch it, `far` of the four diagonal ones. The points i1 - 1, i1
 * and i1 + 1 share these sums, which saves two thirds of the additions. */
static inline void sum_rows_around(int n, const double *grid, int i3, int i2,
                                   double *restrict near, double *restrict far)
{
    const double *below = grid + mg_row(n, i3, i2 - 1), *above = grid + mg_row(n, i3, i2 + 1);
    const double *back = grid + mg_row(n, i3 - 1, i2), *front = grid + mg_row(n, i3 + 1, i2);
    const double *back_below = back - n, *back_above = back + n;
    const double *front_below = front - n, *front_above = front + n;

    for (int i1 = 0; i1 < n; i1++) {
        near[i1] = below[i1] + above[i1] + back[i1] + front[i1];
        far[i1] = back_below[i1] + back_above[i1] + front_below[i1] + front_above[i1];
    }
}

/* Fills the borders that repeat what plane i3 holds, while it is in the cache. */
static void fill_borders(int n, double *grid, int i3)
{
    double *plane = grid + mg_row(n, i3, 0);
    size_t n1 = (size_t)n, plane_bytes = n1 * n1 * sizeof *grid;

    for (size_t i2 = 1; i2 < n1 - 1; i2++) {
        plane[i2 * n1] = plane[i2 * n1 + n1 - 2];
        plane[i2 * n1 + n1 - 1] = plane[i2 * n1 + 1];
    }
    memcpy(plane, plane + (n1 - 2) * n1, n1 * sizeof *grid);
    memcpy(plane + (n1 - 1) * n1, plane + n1, n1 * sizeof *grid);
    if (i3 == 1)
        memcpy(grid + mg_row(n, n - 1, 0), plane, plane_bytes);
    if (i3 == n - 2)
        memcpy(grid, plane, plane_bytes);
}

void mg_zero(int n, double *u)
{
#pragma omp for
    for (int i3 = 0; i3 < n; i3++)
        memset(u + mg_row(n, i3, 0), 0, (size_t)n * (size_t)n * sizeof *u);
}

void mg_residual(int n, const double *u, const double *v, double *r)
{
    double near[MG_MAX_N], far[MG_MAX_N];
#pragma omp for
    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i2 = 1; i2 < n - 1; i2++) {
            const double *u_row = u + mg_row(n, i3, i2), *v_row = v + mg_row(n, i3, i2);
            double *r_row = r + mg_row(n, i3, i2);
            sum_rows_around(n, u, i3, i2, near, far);
#pragma omp simd
            for (int i1 = 1; i1 < n - 1; i1++)
                r_row[i1] = v_row[i1] - A_SELF * u_row[i1] -
                            A_EDGE * (far[i1] + near[i1 - 1] + near[i1 + 1]) -
                            A_CORNER * (far[i1 - 1] + far[i1 + 1]);
        }
        fill_borders(n, r, i3);
    }
}

void mg_smooth(int n, const double *r, double *u)
{
    double near[MG_MAX_N], far[MG_MAX_N];
#pragma omp for
    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i2 = 1; i2 < n - 1; i2++) {
            const double *r_row = r + mg_row(n, i3, i2);
            double *u_row = u + mg_row(n, i3, i2);
            sum_rows_around(n, r, i3, i2, near, far);
#pragma omp simd
            for (int i1 = 1; i1 < n - 1; i1++)
                u_row[i1] += S_SELF * r_row[i1] +
                             S_FACE * (r_row[i1 - 1] + r_row[i1 + 1] + near[i1]) +
                             S_EDGE * (far[i1] + near[i1 - 1] + near[i1 + 1]);
        }
        fill_borders(n, u, i3);
    }
}

void mg_restrict(int n, const double *fine, double *coarse)
{
    int coarse_n = n / 2 + 1;
    double near[MG_MAX_N], far[MG_MAX_N];
#pragma omp for
    for (int i3 = 1; i3 < coarse_n - 1; i3++) {
        for (int i2 = 1; i2 < coarse_n - 1; i2++) {
            const double *row = fine + mg_row(n, 2 * i3, 2 * i2);
            double *coarse_row = coarse + mg_row(coarse_n, i3, i2);
            sum_rows_around(n, fine, 2 * i3, 2 * i2, near, far);
            for (int i1 = 1; i1 < coarse_n - 1; i1++) {
                int i = 2 * i1;
                coarse_row[i1] = 0.5 * row[i] + 0.25 * (row[i - 1] + row[i + 1] + near[i]) +
                                 0.125 * (near[i - 1] + near[i + 1] + far[i]) +
                                 0.0625 * (far[i - 1] + far[i + 1]);
            }
        }
        fill_borders(coarse_n, coarse, i3);
    }
}

/* Adds to one fine row: `factor` times the sums at the coarse points, and their
 * means between them. */
static inline void add_between(int coarse_n, const double *restrict sums, double factor,
                               double *restrict fine_row)
{
    for (int i1 = 0; i1 < coarse_n - 1; i1++) {
        fine_row[2 * i1] += factor * sums[i1];
        fine_row[2 * i1 + 1] += 0.5 * factor * (sums[i1] + sums[i1 + 1]);
    }
}

void mg_prolong(int n, const double *coarse, double *fine)
{
    int coarse_n = n / 2 + 1;
    double up[MG_MAX_N / 2 + 1], front[MG_MAX_N / 2 + 1], all[MG_MAX_N / 2 + 1];
#pragma omp for
    for (int i3 = 0; i3 < coarse_n - 1; i3++) {
        for (int i2 = 0; i2 < coarse_n - 1; i2++) {
            const double *c00 = coarse + mg_row(coarse_n, i3, i2), *c01 = c00 + coarse_n;
            const double *c10 = coarse + mg_row(coarse_n, i3 + 1, i2), *c11 = c10 + coarse_n;
            for (int i1 = 0; i1 < coarse_n; i1++) {
                up[i1] = c00[i1] + c01[i1];
                front[i1] = c00[i1] + c10[i1];
                all[i1] = up[i1] + c10[i1] + c11[i1];
            }
            add_between(coarse_n, c00, 1.0, fine + mg_row(n, 2 * i3, 2 * i2));
            add_between(coarse_n, up, 0.5, fine + mg_row(n, 2 * i3, 2 * i2 + 1));
            add_between(coarse_n, front, 0.5, fine + mg_row(n, 2 * i3 + 1, 2 * i2));
            add_between(coarse_n, all, 0.25, fine + mg_row(n, 2 * i3 + 1, 2 * i2 + 1));
        }
    }
}

double mg_norm(int n, const double *r)
{
    static double sum;
    double points = (double)(n - 2) * (n - 2) * (n - 2), norm;
#pragma omp single
    sum = 0.0;
#pragma omp for reduction(+ : sum)
    for (int i3 = 1; i3 < n - 1; i3++)
        for (int i2 = 1; i2 < n - 1; i2++) {
            const double *row = r + mg_row(n, i3, i2);
#pragma omp simd reduction(+ : sum)
            for (int i1 = 1; i1 < n - 1; i1++)
                sum += row[i1] * row[i1];
        }
    norm = sqrt(sum / points);
    /* The next call must not clear the sum before everybody has read it. */
#pragma omp barrier
    return norm;
}
