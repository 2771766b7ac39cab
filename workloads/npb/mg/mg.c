/* NPB MG: a multigrid solver for the Poisson problem on a periodic cube
 * (RNR-94-007, section 3.2).
 *
 * Four (class B and C: twenty) V-cycles approximate the solution of A u = v for
 * a v of twenty point charges. A V-cycle restricts the residual down to a grid
 * of two points along each axis, smooths there, and comes back up, correcting
 * and smoothing on each grid.
 *
 * Parallel: one team for the whole solution, each operator a loop over the
 * planes of one grid with a barrier behind. What it is there to show: stencils
 * that stream through memory on the fine grids, where bandwidth is the bound,
 * and on the coarse ones loops so short that barriers are, and fewer planes
 * than threads.
 */
#include "mg.h"
#include <stdio.h>

/* All grids of one variable, coarsest first. The coarser ones together have
 * less than a fifth of the points of the finest: 18%, borders included, in class
 * S, and less the larger the class. */
#define FINEST ((size_t)MG_MAX_N * MG_MAX_N * MG_MAX_N)
#define ALL_GRIDS (FINEST + FINEST / 5)

static double u_grids[ALL_GRIDS], r_grids[ALL_GRIDS], v[FINEST];

static int points_with_borders(int level)
{
    return (1 << level) + 2;
}

/* Where the grid of a level starts in `grids`. */
static double *at_level(double *grids, int level)
{
    for (int k = 1; k < level; k++)
        grids += mg_row(points_with_borders(k), points_with_borders(k), 0);
    return grids;
}

static void v_cycle(void)
{
    for (int k = MG_LEVELS; k > 1; k--)
        mg_restrict(points_with_borders(k), at_level(r_grids, k), at_level(r_grids, k - 1));

    mg_zero(points_with_borders(1), u_grids);
    mg_smooth(points_with_borders(1), r_grids, u_grids);

    for (int k = 2; k <= MG_LEVELS; k++) {
        int n = points_with_borders(k);
        double *u = at_level(u_grids, k), *r = at_level(r_grids, k);
        int finest = k == MG_LEVELS;
        if (!finest)
            mg_zero(n, u);
        mg_prolong(n, at_level(u_grids, k - 1), u);
        mg_residual(n, u, finest ? v : r, r);
        mg_smooth(n, r, u);
    }
}

/* Solves from u = 0; returns the norm of the residual after the last cycle. */
static double solve(int iterations)
{
    double *u = at_level(u_grids, MG_LEVELS), *r = at_level(r_grids, MG_LEVELS);
    double norm = 0.0;
#pragma omp parallel
    {
        double before, after;
        mg_residual(MG_MAX_N, u, v, r);
        before = mg_norm(MG_MAX_N, r);
        for (int i = 0; i < iterations; i++) {
            v_cycle();
            mg_residual(MG_MAX_N, u, v, r);
        }
        after = mg_norm(MG_MAX_N, r);
#pragma omp single
        {
            norm = after;
            printf("  norm of the residual: %.6e before, %.6e after %d cycle%s\n", before, after,
                   iterations, iterations == 1 ? "" : "s");
        }
    }
    return norm;
}

/* u = 0; the threads that will compute touch their parts first. */
static void clear(void)
{
#pragma omp parallel
    {
        mg_zero(MG_MAX_N, at_level(u_grids, MG_LEVELS));
        mg_zero(MG_MAX_N, at_level(r_grids, MG_LEVELS));
    }
}

int main(int argc, char **argv)
{
    workload_fixed_arguments(argc, argv, "mg", NPB_CLASS_NAME, 0);
    clear();
    mg_charges(MG_MAX_N, v);
    solve(1); /* untimed: touches all memory */
    clear();

    double start = workload_seconds();
    double norm = solve(MG_ITERATIONS);
    double seconds = workload_seconds() - start;

    struct npb_check check = {
        "norm", norm,
        NPB_BY_CLASS(0.5307707005734e-04, 0.6467329375339e-05, 0.2433365309069e-05,
                     0.1800564401355e-05, 0.5706732285740e-06)};
    struct workload_result result = {
        .suite = "npb",
        .name = "mg",
        .size = NPB_CLASS_NAME,
        .iterations = MG_ITERATIONS,
        .seconds = seconds,
        .operations = 58.0 * MG_ITERATIONS * (double)MG_POINTS * MG_POINTS * MG_POINTS,
        .unit = "floating-point",
        .checksum = NAN,
        .verdict = npb_verify(&check, 1, 1e-8),
    };
    return workload_finish(&result);
}
