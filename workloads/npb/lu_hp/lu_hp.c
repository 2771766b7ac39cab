/* LU: a lower-upper symmetric Gauss-Seidel solver whose sweeps go by wavefronts.
 *
 * The program is described in ../lu_common/ssor.c; this file walks through a
 * sweep by hyperplanes, projected on the plane of y and z. Lines whose numbers
 * j + k are equal do not need each other, so the team shares out the lines of
 * one such front after the other, with a barrier between them. Fronts grow from
 * one line to a plane's worth and shrink again: parallelism is uneven, barriers
 * are many (four for each plane and step), and neighbours in a front lie a plane
 * apart in memory, on different pages. Compare with the pipeline of lu, which
 * does the same arithmetic.
 */
#include "../lu_common/lu.h"

const char lu_name[] = "lu_hp";

/* The planes that a front j + k meets. */
static int first_plane(int front)
{
    return front > LU_LAST ? front - LU_LAST : 1;
}

static int last_plane(int front)
{
    return front > LU_LAST ? LU_LAST : front - 1;
}

void lu_sweep(void)
{
    for (int front = 2; front <= 2 * LU_LAST; front++) {
#pragma omp for schedule(static)
        for (int k = first_plane(front); k <= last_plane(front); k++)
            lu_solve_lower_line(k, front - k);
    }
    for (int front = 2 * LU_LAST; front >= 2; front--) {
#pragma omp for schedule(static)
        for (int k = first_plane(front); k <= last_plane(front); k++)
            lu_solve_upper_line(k, front - k);
    }
}
