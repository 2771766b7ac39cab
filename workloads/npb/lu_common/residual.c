/* The residual of the steady equations: what the six neighbours and the point
 * itself send, minus the forcing.
 *
 * All three axes in one pass over the planes, so that each plane of the
 * solution comes from memory once: a line needs five lines of its plane and
 * the same line of the two planes on either side.
 */
#include "flux.h"

/* What is linear in the state along one axis: second-order dissipation, and
 * the fourth-order one that loses a neighbour next to the boundary and two
 * there (RNR-94-007, section 3.3). Points at -2, -1, 0, 1 and 2; where a
 * weight is zero the offset is too, so that nothing is read off the grid. */
struct stencil {
    int before, after; /* of the far points: -2 and 2, or 0 */
    double weight[5];
};

static inline struct stencil stencil_at(int axis, int position)
{
    /* A quarter of the largest of the second-order coefficients. */
    const double fourth = 0.25;
    const double second = LU_SECOND * lu_dissipation[axis];
    struct stencil s = {-2, 2, {-fourth, 4.0 * fourth + second, -6.0 * fourth - 2.0 * second,
                                4.0 * fourth + second, -fourth}};
    if (position <= 2) {
        s.before = 0;
        s.weight[0] = 0.0;
    }
    if (position == 1) {
        s.weight[1] -= 4.0 * fourth;
        s.weight[2] += fourth;
    }
    if (position >= LU_LAST - 1) {
        s.after = 0;
        s.weight[4] = 0.0;
    }
    if (position == LU_LAST) {
        s.weight[3] -= 4.0 * fourth;
        s.weight[2] += fourth;
    }
    return s;
}

/* Adds along x at the points from `first` to `last`, which share a stencil. */
static inline void add_along_x(lu_line sum, const lu_line u, int first, int last)
{
    struct stencil s = stencil_at(0, first);
    for (int m = 0; m < LU_COMPONENTS; m++)
        for (int i = first; i <= last; i++)
            sum[m][i] += s.weight[0] * u[m][i + s.before] + s.weight[1] * u[m][i - 1] +
                         s.weight[2] * u[m][i] + s.weight[3] * u[m][i + 1] +
                         s.weight[4] * u[m][i + s.after];
}

/* Sets the linear part of a line: along y and z all its points are alike. */
static inline void set_linear(lu_line sum, int k, int j)
{
    struct stencil y = stencil_at(1, j);
    struct stencil z = stencil_at(2, k);
    for (int m = 0; m < LU_COMPONENTS; m++)
        for (int i = 1; i <= LU_LAST; i++)
            sum[m][i] = y.weight[0] * lu_u[k][j + y.before][m][i] +
                        y.weight[1] * lu_u[k][j - 1][m][i] +
                        (y.weight[2] + z.weight[2]) * lu_u[k][j][m][i] +
                        y.weight[3] * lu_u[k][j + 1][m][i] +
                        y.weight[4] * lu_u[k][j + y.after][m][i] +
                        z.weight[0] * lu_u[k + z.before][j][m][i] +
                        z.weight[1] * lu_u[k - 1][j][m][i] + z.weight[3] * lu_u[k + 1][j][m][i] +
                        z.weight[4] * lu_u[k + z.after][j][m][i] - lu_forcing[k][j][m][i];

    add_along_x(sum, lu_u[k][j], 1, 1);
    add_along_x(sum, lu_u[k][j], 2, 2);
    add_along_x(sum, lu_u[k][j], 3, LU_LAST - 2);
    add_along_x(sum, lu_u[k][j], LU_LAST - 1, LU_LAST - 1);
    add_along_x(sum, lu_u[k][j], LU_LAST, LU_LAST);
}

static inline void add_neighbour(const lu_line u, int i, int axis, double side, double sum[5])
{
    struct lu_cell c = lu_cell_at(u, i);
    lu_add_share(&c, axis, side, sum);
}

static void compute_line(int k, int j)
{
    lu_line linear;
    set_linear(linear, k, j);
    for (int i = 1; i <= LU_LAST; i++) {
        double sum[LU_COMPONENTS];
        for (int m = 0; m < LU_COMPONENTS; m++)
            sum[m] = linear[m][i];
        add_neighbour(lu_u[k - 1][j], i, 2, 1.0, sum);
        add_neighbour(lu_u[k + 1][j], i, 2, -1.0, sum);
        add_neighbour(lu_u[k][j - 1], i, 1, 1.0, sum);
        add_neighbour(lu_u[k][j + 1], i, 1, -1.0, sum);
        add_neighbour(lu_u[k][j], i - 1, 0, 1.0, sum);
        add_neighbour(lu_u[k][j], i + 1, 0, -1.0, sum);
        struct lu_cell here = lu_cell_at(lu_u[k][j], i);
        lu_add_own_share(&here, sum);
        for (int m = 0; m < LU_COMPONENTS; m++)
            lu_residual[k][j][m][i] = sum[m];
    }
}

void lu_compute_residual(void)
{
#pragma omp for schedule(static)
    for (int k = 1; k <= LU_LAST; k++)
        for (int j = 1; j <= LU_LAST; j++)
            compute_line(k, j);
}
