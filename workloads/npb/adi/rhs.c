/* The right-hand side: central differences of the fluxes, of second order, and
 * fourth-difference dissipation.
 *
 * Every grid line in x is finished at once from the lines around it, in a
 * buffer that stays in the first-level cache. The three directions use the
 * same code with other strides, which are constants once it is inlined. */
#include "adi.h"
#include "flow.h"

static double forcing[ADI_FIELD];

/* Adds the differences, along one direction, of the terms that are linear in
 * the state: second differences (factor d) and dissipation, for the points
 * first ... last of a line at the point p of the direction. */
static inline void add_linear(double *restrict sum, const double *restrict u, ptrdiff_t stride,
                              int p, double d, int first, int last)
{
    double w[5];
    adi_fourth_difference(p, w);
    for (int n = 0; n < 5; n++)
        w[n] *= -ADI_DISSIPATION;
    w[1] += d * ADI_SECOND;
    w[2] -= 2.0 * d * ADI_SECOND;
    w[3] += d * ADI_SECOND;
    /* What has weight zero may lie outside the grid: take the point itself. */
    ptrdiff_t before = p == 1 ? 0 : -2 * stride, after = p == ADI_GRID - 2 ? 0 : 2 * stride;

    for (int m = 0; m < ADI_COMPONENTS; m++)
        for (int i = first; i <= last; i++) {
            const double *c = u + m * ADI_ROW + i;
            sum[m * ADI_ROW + i] += w[0] * c[before] + w[1] * c[-stride] + w[2] * c[0] +
                                    w[3] * c[stride] + w[4] * c[after];
        }
}

/* Velocities and energies per mass at a point, from its conserved quantities;
 * `along`, `b` and `c` are the components of momentum. */
struct flow {
    double along, b, c; /* velocities */
    double kinetic;     /* energy per mass */
    double energy;      /* energy per mass, all */
    double pressure;
};

static inline struct flow flow_at(const double *point, ptrdiff_t along, ptrdiff_t b, ptrdiff_t c)
{
    double per_density = 1.0 / point[0];
    struct flow f;
    f.along = point[along] * per_density;
    f.b = point[b] * per_density;
    f.c = point[c] * per_density;
    f.kinetic = 0.5 * (f.along * f.along + f.b * f.b + f.c * f.c);
    f.energy = point[ADI_ENERGY * ADI_ROW] * per_density;
    f.pressure = ADI_C2 * (point[ADI_ENERGY * ADI_ROW] - point[0] * f.kinetic);
    return f;
}

static inline double second(double before, double here, double after)
{
    return before - 2.0 * here + after;
}

/* Adds the convective and viscous terms of one direction, whose momentum is
 * `normal`, for a line in x. */
static inline void add_fluxes(double *restrict sum, const double *restrict u, ptrdiff_t stride,
                              int normal)
{
    const double viscosity = ADI_VISCOSITY * ADI_SECOND;
    const double conductivity = ADI_CONDUCTIVITY * ADI_SECOND;
    const ptrdiff_t along = normal * ADI_ROW;
    const ptrdiff_t b = (normal == ADI_MOMENTUM_X ? ADI_MOMENTUM_Y : ADI_MOMENTUM_X) * ADI_ROW;
    const ptrdiff_t c = (normal == ADI_MOMENTUM_Z ? ADI_MOMENTUM_Y : ADI_MOMENTUM_Z) * ADI_ROW;
    const ptrdiff_t energy = ADI_ENERGY * ADI_ROW;

    for (int i = 1; i < ADI_GRID - 1; i++) {
        const double *here = u + i, *before = here - stride, *after = here + stride;
        struct flow l = flow_at(before, along, b, c);
        struct flow m = flow_at(here, along, b, c);
        struct flow r = flow_at(after, along, b, c);
        double *s = sum + i;

        s[0] -= ADI_FIRST * (after[along] - before[along]);
        s[along] += ADI_NORMAL * viscosity * second(l.along, m.along, r.along) -
                    ADI_FIRST * (after[along] * r.along + r.pressure - before[along] * l.along -
                                 l.pressure);
        s[b] += viscosity * second(l.b, m.b, r.b) -
                ADI_FIRST * (after[b] * r.along - before[b] * l.along);
        s[c] += viscosity * second(l.c, m.c, r.c) -
                ADI_FIRST * (after[c] * r.along - before[c] * l.along);
        /* Viscous work: the kinetic energy diffuses as momentum does, the
         * part along the direction with the factor of normal stress, the
         * internal energy by conduction. */
        s[energy] +=
            viscosity * second(l.kinetic, m.kinetic, r.kinetic) +
            0.5 * (ADI_NORMAL - 1.0) * viscosity *
                second(l.along * l.along, m.along * m.along, r.along * r.along) +
            conductivity * second(l.energy - l.kinetic, m.energy - m.kinetic,
                                  r.energy - r.kinetic) -
            ADI_FIRST * ((after[energy] + r.pressure) * r.along -
                         (before[energy] + l.pressure) * l.along);
    }
}

void adi_compute_rhs(void)
{
#pragma omp parallel for schedule(static)
    for (int k = 1; k < ADI_GRID - 1; k++)
        for (int j = 1; j < ADI_GRID - 1; j++) {
            const ptrdiff_t line = adi_line(j, k);
            const double *u = adi_u + line;
            double sum[ADI_LINE];
            for (int x = 0; x < ADI_LINE; x++)
                sum[x] = forcing[line + x];

            add_fluxes(sum, u, 1, ADI_MOMENTUM_X);
            add_fluxes(sum, u, ADI_LINE, ADI_MOMENTUM_Y);
            add_fluxes(sum, u, ADI_PLANE, ADI_MOMENTUM_Z);

            add_linear(sum, u, 1, 1, ADI_SPREAD_XY, 1, 1);
            add_linear(sum, u, 1, 2, ADI_SPREAD_XY, 2, 2);
            add_linear(sum, u, 1, 3, ADI_SPREAD_XY, 3, ADI_GRID - 4);
            add_linear(sum, u, 1, ADI_GRID - 3, ADI_SPREAD_XY, ADI_GRID - 3, ADI_GRID - 3);
            add_linear(sum, u, 1, ADI_GRID - 2, ADI_SPREAD_XY, ADI_GRID - 2, ADI_GRID - 2);
            add_linear(sum, u, ADI_LINE, j, ADI_SPREAD_XY, 1, ADI_GRID - 2);
            add_linear(sum, u, ADI_PLANE, k, ADI_SPREAD_Z, 1, ADI_GRID - 2);

            for (int x = 0; x < ADI_LINE; x++)
                adi_rhs[line + x] = ADI_TIME_STEP * sum[x];
        }
}

void adi_force(void)
{
#pragma omp parallel for schedule(static)
    for (int k = 0; k < ADI_GRID; k++)
        for (int j = 0; j < ADI_GRID; j++)
            for (int i = 0; i < ADI_GRID; i++) {
                double exact[ADI_COMPONENTS];
                flow_exact(i / ADI_PER_CELL, j / ADI_PER_CELL, k / ADI_PER_CELL, exact);
                for (int m = 0; m < ADI_COMPONENTS; m++)
                    adi_u[adi_line(j, k) + m * ADI_ROW + i] = exact[m];
            }

    /* What the differences leave of the exact solution while there is no
     * forcing yet. */
    adi_compute_rhs();
#pragma omp parallel for schedule(static)
    for (int k = 1; k < ADI_GRID - 1; k++)
        for (int j = 1; j < ADI_GRID - 1; j++)
            for (int x = 0; x < ADI_LINE; x++)
                forcing[adi_line(j, k) + x] = -adi_rhs[adi_line(j, k) + x] / ADI_TIME_STEP;
}
