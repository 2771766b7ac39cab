/* The grids of MG and what is done on them.
 *
 * A grid of 2^level points along each axis is stored with one more plane on
 * each side, which repeats the opposite one: the problem is periodic. So a
 * grid has n = 2^level + 2 points along each axis; (i3, i2, i1) are the
 * indices, i1 fastest, 0 and n - 1 the borders.
 */
#ifndef FATHOMP_MG_H
#define FATHOMP_MG_H

#include "npb.h"

#define MG_LEVELS NPB_BY_CLASS(5, 7, 8, 8, 9)
#define MG_ITERATIONS NPB_BY_CLASS(4, 4, 4, 20, 20)
#define MG_POINTS (1 << MG_LEVELS) /* along one axis of the finest grid */
#define MG_MAX_N (MG_POINTS + 2)

/* Where a row of a grid starts. */
static inline size_t mg_row(int n, int i3, int i2)
{
    return ((size_t)i3 * (size_t)n + (size_t)i2) * (size_t)n;
}

/* The right-hand side: zero but for +1 at the ten largest and -1 at the ten
 * smallest values of a field of random numbers. Forms its own team. */
void mg_charges(int n, double *v);

/* The functions below are called by all threads of a team together. Each ends
 * with a barrier; each fills the borders of what it computes. */

/* The whole grid, borders and all, becomes zero. */
void mg_zero(int n, double *u);

/* r = v - A u; r and v may be the same grid. */
void mg_residual(int n, const double *u, const double *v, double *r);

/* u = u + S r. */
void mg_smooth(int n, const double *r, double *u);

/* The projection P of a fine grid of `n` to a coarse one of n / 2 + 1. */
void mg_restrict(int n, const double *fine, double *coarse);

/* fine = fine + Q coarse, the trilinear interpolation, for a fine grid of `n`. */
void mg_prolong(int n, const double *coarse, double *fine);

/* The same number for all threads: the root of the mean square. */
double mg_norm(int n, const double *r);

#endif
