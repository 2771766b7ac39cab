#include "block.h"

/* The blocks are in the order density, momentum along the line, momenta
 * across, energy; so they are the same in all directions. */

/* block += k d(convective flux)/du */
static inline void add_convective(lanes block[restrict M][M], const struct flow *f, double k)
{
    const lanes a = k * f->along, b = k * f->b, c = k * f->c;
    const lanes enthalpy = ADI_C1 * f->energy - ADI_C2 * f->kinetic;

    block[0][1] += k;
    block[1][0] += k * ADI_C2 * f->kinetic - a * f->along;
    block[1][1] += (2.0 - ADI_C2) * a;
    block[1][2] -= ADI_C2 * b;
    block[1][3] -= ADI_C2 * c;
    block[1][4] += k * ADI_C2;
    block[2][0] -= a * f->b;
    block[2][1] += b;
    block[2][2] += a;
    block[3][0] -= a * f->c;
    block[3][1] += c;
    block[3][3] += a;
    block[4][0] += a * (ADI_C2 * f->kinetic - enthalpy);
    block[4][1] += k * enthalpy - ADI_C2 * a * f->along;
    block[4][2] -= ADI_C2 * a * f->b;
    block[4][3] -= ADI_C2 * a * f->c;
    block[4][4] += ADI_C1 * a;
}

/* block = k (d(viscous flux)/du + d I) + one I */
static inline void set_viscous(lanes block[restrict M][M], const struct flow *f, double k,
                               double d, double one)
{
    const lanes zero = {0.0};
    const lanes viscosity = k * ADI_VISCOSITY * f->volume;
    const lanes conductivity = k * ADI_CONDUCTIVITY * f->volume;
    const lanes normal = ADI_NORMAL * viscosity;
    const double diagonal = k * d + one;

    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            block[i][j] = zero;
    block[0][0] += diagonal;
    block[1][0] = -normal * f->along;
    block[1][1] = normal + diagonal;
    block[2][0] = -viscosity * f->b;
    block[2][2] = viscosity + diagonal;
    block[3][0] = -viscosity * f->c;
    block[3][3] = viscosity + diagonal;
    block[4][1] = (normal - conductivity) * f->along;
    block[4][2] = (viscosity - conductivity) * f->b;
    block[4][3] = (viscosity - conductivity) * f->c;
    block[4][0] = -block[4][1] * f->along - block[4][2] * f->b - block[4][3] * f->c -
                  conductivity * f->energy;
    block[4][4] = conductivity + diagonal;
}

void adi_solve_lines(double *restrict u, double *restrict rhs, const struct sweep *s)
{
    struct flow flow[ADI_GRID];
    lanes upper[ADI_GRID][M][M], x[ADI_GRID][M];
    const ptrdiff_t rows[M] = {0, s->normal, s->b, s->c, ADI_ENERGY * ADI_ROW};

    for (int p = 0; p < ADI_GRID; p++)
        gather_flow(&flow[p], u + p * s->along, s);

    /* The rows of the boundary drop out, since the solution is zero there. */
    for (int p = 1; p < ADI_GRID - 1; p++) {
        lanes lower[M][M], diagonal[M][M];
        for (int m = 0; m < M; m++)
            x[p][m] = gather(rhs + p * s->along + rows[m], s->across);
        set_viscous(diagonal, &flow[p], 2.0 * SWEEP_SECOND, s->spread, 1.0);
        set_viscous(upper[p], &flow[p + 1], -SWEEP_SECOND, s->spread, 0.0);
        add_convective(upper[p], &flow[p + 1], SWEEP_FIRST);
        if (p > 1) {
            set_viscous(lower, &flow[p - 1], -SWEEP_SECOND, s->spread, 0.0);
            add_convective(lower, &flow[p - 1], -SWEEP_FIRST);
            subtract_column(x[p], lower, x[p - 1]);
            subtract_product(diagonal, lower, upper[p - 1]);
        }
        divide(diagonal, upper[p], x[p]);
    }
    for (int p = ADI_GRID - 3; p >= 1; p--)
        subtract_column(x[p], upper[p], x[p + 1]);

    for (int p = 1; p < ADI_GRID - 1; p++)
        for (int m = 0; m < M; m++) {
            double *to = (s->direction == Z ? u : rhs) + p * s->along + rows[m];
            if (s->direction == Z)
                x[p][m] += gather(to, s->across);
            scatter(to, s->across, x[p][m]);
        }
}
