/* The equations of LU at one grid point.
 *
 * RNR-94-007, section 3.2: du/dt is minus the divergence of the convective
 * fluxes E, F, G plus the divergence of the viscous ones. In central
 * differences each inner point takes a share from its six neighbours; the
 * residual is the sum of the shares, and the blocks of the triangular systems
 * of SSOR are derivatives of the same shares. So both are here, once, with the
 * axis (0 to 2) as a constant that the compiler folds.
 */
#ifndef FATHOMP_NPB_LU_FLUX_H
#define FATHOMP_NPB_LU_FLUX_H

#include "lu.h"

/* Constants of section 3.2: ratio of specific heats (c1 = c5, c1 - 1 = c2) and
 * viscosity (c3 c4). */
#define LU_GAMMA 1.4
#define LU_VISCOSITY 0.1
/* The viscous flux of heat, as a multiple of the viscosity: c1 c5. */
#define LU_CONDUCTION (LU_GAMMA * LU_GAMMA)
/* A fluid resists compression along an axis more than shear across it. */
#define LU_COMPRESSION (4.0 / 3.0)

/* Factors of first differences across a point, and of second differences. */
#define LU_FIRST (0.5 * (LU_POINTS - 1))
#define LU_SECOND ((double)(LU_POINTS - 1) * (LU_POINTS - 1))

/* Second-order dissipation along each axis (d of section 3.2), the same for
 * all components. */
static const double lu_dissipation[3] = {0.75, 0.75, 1.0};

/* The state at one point. Velocities and `energy` are per unit of mass. */
struct lu_cell {
    double inverse_density;
    double momentum[3];
    double velocity[3];
    double kinetic; /* half the square of the velocity */
    double energy;
    double pressure;
    double enthalpy; /* per unit of volume */
};

static inline struct lu_cell lu_cell_at(const lu_line u, int i)
{
    struct lu_cell c;
    c.inverse_density = 1.0 / u[0][i];
    c.kinetic = 0.0;
    for (int a = 0; a < 3; a++) {
        c.momentum[a] = u[1 + a][i];
        c.velocity[a] = c.momentum[a] * c.inverse_density;
        c.kinetic += 0.5 * c.velocity[a] * c.velocity[a];
    }
    c.energy = u[4][i] * c.inverse_density;
    c.pressure = (LU_GAMMA - 1.0) * (u[4][i] - c.kinetic * u[0][i]);
    c.enthalpy = u[4][i] + c.pressure;
    return c;
}

/* Adds to `sum` the share of a neighbour on `axis`: `side` is 1 for the one
 * before the point, -1 for the one after it. Without the linear part, which
 * needs no cell. */
static inline void lu_add_share(const struct lu_cell *c, int axis, double side, double sum[5])
{
    const double convection = side * LU_FIRST;
    const double diffusion = LU_SECOND * LU_VISCOSITY;
    const double w = c->velocity[axis];

    sum[0] += convection * c->momentum[axis];
    for (int a = 0; a < 3; a++) {
        double k = a == axis ? LU_COMPRESSION : 1.0;
        sum[1 + a] += convection * (c->momentum[axis] * c->velocity[a]) +
                      diffusion * k * c->velocity[a];
    }
    sum[1 + axis] += convection * c->pressure;
    sum[4] += convection * (c->enthalpy * w) +
              diffusion * ((1.0 - LU_CONDUCTION) * c->kinetic +
                           0.5 * (LU_COMPRESSION - 1.0) * w * w + LU_CONDUCTION * c->energy);
}

/* Adds to `sum` the factor of -2 with which the point itself enters the second
 * differences along all axes, again without the linear part. */
static inline void lu_add_own_share(const struct lu_cell *c, double sum[5])
{
    const double diffusion = -2.0 * LU_SECOND * LU_VISCOSITY;

    for (int a = 0; a < 3; a++)
        sum[1 + a] += diffusion * (2.0 + LU_COMPRESSION) * c->velocity[a];
    sum[4] += diffusion * ((2.0 + LU_COMPRESSION - 3.0 * LU_CONDUCTION) * c->kinetic +
                           3.0 * LU_CONDUCTION * c->energy);
}

/* Adds to `sum` `scale` times the change of a neighbour's share, linear part
 * included, when the neighbour's state `c` changes by `v`: an off-diagonal
 * block times a vector, without forming the block. */
static inline void lu_add_change(const struct lu_cell *c, const double v[5], int axis, double side,
                                 double scale, double sum[5])
{
    const double convection = scale * side * LU_FIRST;
    const double diffusion = scale * LU_SECOND * LU_VISCOSITY;
    const double linear = scale * LU_SECOND * lu_dissipation[axis];
    double velocity[3]; /* the changes of velocity, of energy per mass, of pressure */
    for (int a = 0; a < 3; a++)
        velocity[a] = (v[1 + a] - c->velocity[a] * v[0]) * c->inverse_density;
    double energy = (v[4] - c->energy * v[0]) * c->inverse_density;
    double pressure = (LU_GAMMA - 1.0) *
                      (v[4] + (c->kinetic * v[0] - (c->velocity[0] * v[1] + c->velocity[1] * v[2] +
                                                    c->velocity[2] * v[3])));
    double heating = (1.0 - LU_CONDUCTION) *
                         (c->velocity[0] * velocity[0] + c->velocity[1] * velocity[1] +
                          c->velocity[2] * velocity[2]) +
                     (LU_COMPRESSION - 1.0) * c->velocity[axis] * velocity[axis] +
                     LU_CONDUCTION * energy;

    sum[0] += convection * v[1 + axis] + linear * v[0];
    for (int a = 0; a < 3; a++) {
        double k = a == axis ? LU_COMPRESSION : 1.0;
        double carried = c->velocity[a] * v[1 + axis] + c->momentum[axis] * velocity[a];
        sum[1 + a] += convection * carried + diffusion * k * velocity[a] + linear * v[1 + a];
    }
    sum[1 + axis] += convection * pressure;
    sum[4] += convection * (c->enthalpy * velocity[axis] + c->velocity[axis] * (v[4] + pressure)) +
              diffusion * heating + linear * v[4];
}

/* Solves D x = t in place, D the diagonal block: 1 - LU_TIME_STEP times the
 * derivative of the point's own share. Density goes first, momenta depend on
 * it alone, energy on all: no elimination is needed. */
static inline void lu_solve_diagonal(const struct lu_cell *c, double t[5])
{
    const double scale = 2.0 * LU_TIME_STEP * LU_SECOND;
    const double linear =
        1.0 + scale * (lu_dissipation[0] + lu_dissipation[1] + lu_dissipation[2]);
    const double friction = scale * LU_VISCOSITY * (2.0 + LU_COMPRESSION) * c->inverse_density;
    const double conduction = scale * LU_VISCOSITY * 3.0 * LU_CONDUCTION * c->inverse_density;
    const double per_momentum = 1.0 / (linear + friction);
    const double per_energy = 1.0 / (linear + conduction);

    t[0] *= 1.0 / linear;
    double heating = 0.0;
    for (int a = 0; a < 3; a++) {
        double pull = c->velocity[a] * t[0];
        t[1 + a] = (t[1 + a] + friction * pull) * per_momentum;
        heating += c->velocity[a] * (t[1 + a] - pull);
    }
    t[4] = (t[4] + conduction * c->energy * t[0] - (friction - conduction) * heating) * per_energy;
}

#endif
