/* LU: a lower-upper symmetric Gauss-Seidel solver.
 *
 * RNR-94-007, section 3 (LU): 250 steps in pseudo-time (300 in class W, 50 in
 * class S) towards the steady state of a compressible flow in a cube. Each
 * step applies one SSOR iteration, a lower and an upper block-triangular
 * solve, to the residual, adds the change and computes the residual anew.
 * Blocks are applied from their formulas (flux.h) instead of being stored, and
 * their zeros are left out; the arithmetic is otherwise that of the
 * specification.
 *
 * Two parallel regions per step, as in the OpenMP version (Jin, Frumkin and
 * Yan, NAS-99-011): sweeps with the update, and the residual with planes
 * shared out. Two programs are made from this folder, which differ in how a
 * team walks through a sweep: lu (a pipeline) and lu_hp (wavefronts). What LU
 * is there to show: parallelism that a data dependence limits, and data that
 * change hands, for the sweeps own lines of all planes and the residual owns
 * whole planes.
 */
#include "lu.h"
#include "published.h"

/* Over-relaxation of the change: 1 / (w (2 - w)), w = 1.2. */
static const double change_factor = 1.0 / (1.2 * (2.0 - 1.2));

static void step(void)
{
#pragma omp parallel
    {
        lu_sweep();
#pragma omp barrier
#pragma omp for schedule(static)
        for (int k = 1; k <= LU_LAST; k++)
            for (int j = 1; j <= LU_LAST; j++)
                for (int m = 0; m < LU_COMPONENTS; m++)
                    for (int i = 1; i <= LU_LAST; i++)
                        lu_u[k][j][m][i] += change_factor * lu_residual[k][j][m][i];
    }
#pragma omp parallel
    lu_compute_residual();
}

/* Steps from the start; returns the seconds that they took. */
static double solve(int steps, double residual[LU_COMPONENTS])
{
    lu_set_start();
#pragma omp parallel
    lu_compute_residual();

    double start = workload_seconds();
    for (int s = 0; s < steps; s++)
        step();
    lu_norm_of_residual(residual);
    return workload_seconds() - start;
}

/* The published count of floating-point operations of a step: an approximation
 * by a polynomial in the number of points along an axis. */
static double operations_per_step(void)
{
    const double n = LU_POINTS;
    return 1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010.0;
}

int main(int argc, char **argv)
{
    workload_fixed_arguments(argc, argv, lu_name, NPB_CLASS_NAME, 0);
    workload_threads();

    double residual[LU_COMPONENTS];
    double error[LU_COMPONENTS];
    lu_set_forcing();
    solve(1, residual); /* pages and caches */
    double seconds = solve(LU_STEPS, residual);
    lu_norm_of_error(error);

    static const char *const names[2][LU_COMPONENTS] = {
        {"residual 1", "residual 2", "residual 3", "residual 4", "residual 5"},
        {"error 1", "error 2", "error 3", "error 4", "error 5"}};
    struct npb_check checks[2 * LU_COMPONENTS + 1];
    for (int m = 0; m < LU_COMPONENTS; m++) {
        checks[m] = (struct npb_check){names[0][m], residual[m], lu_published.residual[m]};
        checks[LU_COMPONENTS + m] =
            (struct npb_check){names[1][m], error[m], lu_published.error[m]};
    }
    checks[2 * LU_COMPONENTS] =
        (struct npb_check){"surface", lu_surface_integral(), lu_published.surface};

    struct workload_result result = {
        .suite = "npb",
        .name = lu_name,
        .size = NPB_CLASS_NAME,
        .iterations = LU_STEPS,
        .seconds = seconds,
        .operations = LU_STEPS * operations_per_step(),
        .unit = "floating-point",
        .checksum = NAN,
        .verdict = npb_verify(checks, 2 * LU_COMPONENTS + 1, 1e-8),
    };
    return workload_finish(&result);
}
