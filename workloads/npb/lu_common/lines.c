/* One line of the two triangular solves of an SSOR step.
 *
 * RNR-94-007, section 3 (LU): (D + w L) D^-1 (D + w U) change = dt residual,
 * with 5 x 5 blocks, one per point and per neighbour. A line first takes what
 * its neighbours in other lines send, all points alike; then it goes along x,
 * where each point needs the one before.
 */
#include "flux.h"

/* Over-relaxation w of section 3. */
#define OMEGA 1.2

/* What precedes each change that a neighbour sends. */
#define SCALE (OMEGA * LU_TIME_STEP)

/* The sides of lu_add_change. */
#define BEFORE 1.0
#define AFTER (-1.0)

static inline void add_neighbour(const lu_line u, const lu_line change, int i, int axis,
                                 double side, double sum[5])
{
    struct lu_cell c = lu_cell_at(u, i);
    double v[LU_COMPONENTS];
    for (int m = 0; m < LU_COMPONENTS; m++)
        v[m] = change[m][i];
    lu_add_change(&c, v, axis, side, SCALE, sum);
}

void lu_solve_lower_line(int k, int j)
{
    lu_line sent;
    for (int i = 1; i <= LU_LAST; i++) {
        double sum[LU_COMPONENTS];
        for (int m = 0; m < LU_COMPONENTS; m++)
            sum[m] = LU_TIME_STEP * lu_residual[k][j][m][i];
        add_neighbour(lu_u[k - 1][j], lu_residual[k - 1][j], i, 2, BEFORE, sum);
        add_neighbour(lu_u[k][j - 1], lu_residual[k][j - 1], i, 1, BEFORE, sum);
        for (int m = 0; m < LU_COMPONENTS; m++)
            sent[m][i] = sum[m];
    }

    struct lu_cell before = lu_cell_at(lu_u[k][j], 0);
    double v[LU_COMPONENTS] = {0.0, 0.0, 0.0, 0.0, 0.0}; /* at the point before: the boundary */
    for (int i = 1; i <= LU_LAST; i++) {
        struct lu_cell here = lu_cell_at(lu_u[k][j], i);
        double sum[LU_COMPONENTS];
        for (int m = 0; m < LU_COMPONENTS; m++)
            sum[m] = sent[m][i];
        lu_add_change(&before, v, 0, BEFORE, SCALE, sum);
        lu_solve_diagonal(&here, sum);
        for (int m = 0; m < LU_COMPONENTS; m++)
            lu_residual[k][j][m][i] = v[m] = sum[m];
        before = here;
    }
}

void lu_solve_upper_line(int k, int j)
{
    lu_line sent;
    for (int i = 1; i <= LU_LAST; i++) {
        double sum[LU_COMPONENTS] = {0.0, 0.0, 0.0, 0.0, 0.0};
        add_neighbour(lu_u[k + 1][j], lu_residual[k + 1][j], i, 2, AFTER, sum);
        add_neighbour(lu_u[k][j + 1], lu_residual[k][j + 1], i, 1, AFTER, sum);
        for (int m = 0; m < LU_COMPONENTS; m++)
            sent[m][i] = sum[m];
    }

    struct lu_cell after = lu_cell_at(lu_u[k][j], LU_LAST + 1);
    double v[LU_COMPONENTS] = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (int i = LU_LAST; i >= 1; i--) {
        struct lu_cell here = lu_cell_at(lu_u[k][j], i);
        double sum[LU_COMPONENTS];
        for (int m = 0; m < LU_COMPONENTS; m++)
            sum[m] = sent[m][i];
        lu_add_change(&after, v, 0, AFTER, SCALE, sum);
        lu_solve_diagonal(&here, sum);
        for (int m = 0; m < LU_COMPONENTS; m++)
            v[m] = lu_residual[k][j][m][i] += sum[m];
        after = here;
    }
}
