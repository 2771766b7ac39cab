/* What the parts of LU share: the grid, its state, and who does what. */
#ifndef FATHOMP_NPB_LU_H
#define FATHOMP_NPB_LU_H

#include "npb.h"

enum {
    LU_COMPONENTS = 5, /* density, three momenta, energy: each per unit of volume */
    LU_POINTS = NPB_BY_CLASS(12, 33, 64, 102, 162), /* along each axis, boundary included */
    LU_LAST = LU_POINTS - 2,                        /* the last inner point; the first is 1 */
    LU_STEPS = NPB_BY_CLASS(50, 300, 250, 250, 250)
};

/* A step in pseudo-time, of the published classes. */
#define LU_TIME_STEP NPB_BY_CLASS(0.5, 1.5e-3, 2.0, 2.0, 2.0)

/* A grid line along x. Each component is contiguous, so that the arithmetic of
 * a line is a loop over unit strides. */
typedef double lu_line[LU_COMPONENTS][LU_POINTS];

/* By plane z and line y within it. */
extern lu_line lu_u[LU_POINTS][LU_POINTS];       /* the solution */
extern lu_line lu_forcing[LU_POINTS][LU_POINTS]; /* holds the exact solution steady */

/* The residual of the steady equations; the sweeps turn it into the change of
 * the solution. Zero on the boundary. */
extern lu_line lu_residual[LU_POINTS][LU_POINTS];

/* grid.c: the start, and what is measured at the end. */
void lu_set_forcing(void);
void lu_set_start(void);
void lu_norm_of_residual(double norm[LU_COMPONENTS]);
void lu_norm_of_error(double norm[LU_COMPONENTS]);
double lu_surface_integral(void);

/* residual.c: by the threads of the team that calls it, planes shared out. */
void lu_compute_residual(void);

/* lines.c: one line of a triangular solve. Needs the neighbours on the side
 * that the sweep comes from: planes k - 1 and lines j - 1 of the lower one,
 * k + 1 and j + 1 of the upper one. */
void lu_solve_lower_line(int k, int j);
void lu_solve_upper_line(int k, int j);

/* Of the program: its name, and both sweeps over all lines, each in the order
 * that its lines allow, by the threads of the team that calls it. On return
 * the lines of other threads may be unfinished. */
extern const char lu_name[];
void lu_sweep(void);

#endif
