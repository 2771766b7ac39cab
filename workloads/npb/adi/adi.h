/* What BT and SP share: the approximately factored (alternating direction
 * implicit) march of RNR-94-007, section 3, towards the steady state of a
 * synthetic three-dimensional compressible Navier-Stokes system.
 *
 * A step computes the right-hand side from the present state and then solves
 * linear systems along every grid line in x, in y and in z; BT and SP differ
 * in those systems alone. The program that uses this folder provides
 *
 *   problem.h         ADI_GRID, the points in each direction (even);
 *                     ADI_STEPS, the time steps; ADI_TIME_STEP, their length
 *   adi_program       its name and what it must compute
 *   adi_solve_lines   the systems of a few lines (sweep.h)
 */
#ifndef FATHOMP_NPB_ADI_H
#define FATHOMP_NPB_ADI_H

#include "npb.h"
#include "problem.h"
#include <stddef.h>

/* The five components at each point. */
enum { ADI_DENSITY, ADI_MOMENTUM_X, ADI_MOMENTUM_Y, ADI_MOMENTUM_Z, ADI_ENERGY, ADI_COMPONENTS };

/* A field is indexed [k][j][component][i]: x runs fastest, so that work along
 * x fills vectors, and the components of a grid line lie together. Rows and
 * planes are one longer than the grid: even sizes would put the points of a
 * line in y or z into very few sets of the caches. */
#define ADI_ROW ((ptrdiff_t)(ADI_GRID + 1))
#define ADI_LINE (ADI_COMPONENTS * ADI_ROW)
#define ADI_PLANE ((ADI_GRID + 1) * ADI_LINE)
#define ADI_FIELD (ADI_GRID * ADI_PLANE)

/* The conserved quantities. */
extern double adi_u[ADI_FIELD];

/* The right-hand side, which the sweeps replace by their solutions. */
extern double adi_rhs[ADI_FIELD];

/* The first component at the first point of the grid line j, k. */
static inline ptrdiff_t adi_line(int j, int k)
{
    return k * ADI_PLANE + j * ADI_LINE;
}

/* Constants of the gas, c_1 ... c_5, in the products in which they appear. */
#define ADI_C1 1.4
#define ADI_C2 0.4
#define ADI_VISCOSITY (0.1 * 1.0)                         /* c_3 c_4 */
#define ADI_CONDUCTIVITY (ADI_C1 * ADI_C1 * ADI_VISCOSITY) /* c_1 c_5 c_3 c_4, c_5 = c_1 */
#define ADI_NORMAL (4.0 / 3.0) /* factor of the viscosity along the line itself */

/* Second-difference coefficients d_x = d_y and d_z, the same for all
 * components, and the factor of the fourth-difference dissipation. */
#define ADI_SPREAD_XY 0.75
#define ADI_SPREAD_Z 1.0
#define ADI_DISSIPATION (0.25 * ADI_SPREAD_Z)

/* One over the distance of grid points. */
#define ADI_PER_CELL ((double)(ADI_GRID - 1))

/* Factors of central first and of second differences. */
#define ADI_FIRST (0.5 * ADI_PER_CELL)
#define ADI_SECOND (ADI_PER_CELL * ADI_PER_CELL)

/* Fourth differences at point p of a line, scaled to -4 beside the point:
 * one-sided next to the boundary, where `weight` has zeros for what is beyond. */
static inline void adi_fourth_difference(int p, double weight[5])
{
    weight[0] = p <= 2 ? 0.0 : 1.0;
    weight[1] = p <= 1 ? 0.0 : -4.0;
    weight[2] = p <= 1 || p >= ADI_GRID - 2 ? 5.0 : 6.0;
    weight[3] = p >= ADI_GRID - 2 ? 0.0 : -4.0;
    weight[4] = p >= ADI_GRID - 3 ? 0.0 : 1.0;
}

/* Sets the state to the exact solution on the boundary and to the transfinite
 * interpolation of the boundary inside. */
void adi_initialise(void);

/* Sets the forcing that makes the exact solution steady; the state becomes
 * that solution. */
void adi_force(void);

/* Sets the right-hand side for the present state: forcing and differences
 * times the time step. */
void adi_compute_rhs(void);

/* Root mean squares over the grid, for each component: of the difference of
 * the state from the exact solution, and of the right-hand side per time. */
void adi_error_norms(double norm[ADI_COMPONENTS]);
void adi_rhs_norms(double norm[ADI_COMPONENTS]);

/* Replace the right-hand side by the solutions of the systems along the lines
 * of one direction, in this order; the last one adds them to the state. */
void adi_x_solve(void);
void adi_y_solve(void);
void adi_z_solve(void);

struct adi_program {
    const char *name;
    double operations_per_step; /* by the formula published with the benchmark */
    /* What the class must give. */
    double rhs_norms[ADI_COMPONENTS];
    double error_norms[ADI_COMPONENTS];
};

extern const struct adi_program adi_program;

#endif
