#include "sweep.h"

static const struct sweep sweeps[] = {
    {X, 1, ADI_LINE, ADI_MOMENTUM_X * ADI_ROW, ADI_MOMENTUM_Y * ADI_ROW, ADI_MOMENTUM_Z * ADI_ROW,
     ADI_SPREAD_XY},
    {Y, ADI_LINE, 1, ADI_MOMENTUM_Y * ADI_ROW, ADI_MOMENTUM_X * ADI_ROW, ADI_MOMENTUM_Z * ADI_ROW,
     ADI_SPREAD_XY},
    {Z, ADI_PLANE, 1, ADI_MOMENTUM_Z * ADI_ROW, ADI_MOMENTUM_X * ADI_ROW, ADI_MOMENTUM_Y * ADI_ROW,
     ADI_SPREAD_Z},
};

/* The interior lines of one plane, whose corner is at `corner`. */
static void solve_plane(ptrdiff_t corner, enum direction direction)
{
    const struct sweep *s = &sweeps[direction];
    for (int line = 1; line < ADI_GRID - 1; line += LANES) {
        const ptrdiff_t start = corner + line * s->across;
        adi_solve_lines(adi_u + start, adi_rhs + start, s);
    }
}

void adi_x_solve(void)
{
#pragma omp parallel for schedule(static)
    for (int k = 1; k < ADI_GRID - 1; k++)
        solve_plane(adi_line(0, k), X);
}

void adi_y_solve(void)
{
#pragma omp parallel for schedule(static)
    for (int k = 1; k < ADI_GRID - 1; k++)
        solve_plane(adi_line(0, k), Y);
}

void adi_z_solve(void)
{
#pragma omp parallel for schedule(static)
    for (int j = 1; j < ADI_GRID - 1; j++)
        solve_plane(adi_line(j, 0), Z);
}
