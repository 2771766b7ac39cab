/* NPB CG, "conjugate gradient" (RNR-94-007, kernel CG): the eigenvalue of a
 * large sparse symmetric matrix next to a shift.
 *
 * Inverse iteration, each step of which solves a system by 25 iterations of
 * conjugate gradients.
 *
 * Parallel over rows, in one region for each step of the inverse iteration. A
 * thread owns the same rows, and the same parts of all vectors, in every loop.
 *
 * Here to show: the product of matrix and vector gathers from all of `p`, which
 * all threads have just rewritten; columns are random, so there is no locality
 * to find. The matrix itself is read once per iteration, as a stream. Three
 * barriers and two reductions per iteration make latency visible.
 */
#include "cg.h"
#include <math.h>
#include <stdio.h>

#define STEPS NPB_BY_CLASS(15, 15, 15, 75, 75)
#define SOLVER_ITERATIONS 25

static double x[ROWS]; /* the eigenvector's approximation, right side of the system */
static double z[ROWS]; /* the solution of A z = x */
static double p[ROWS]; /* search direction */
static double q[ROWS]; /* A p */
static double r[ROWS]; /* residual */

/* Sums over the rows, made by the whole team. */
static double sum_xx, sum_pq, sum_rr, sum_error;

/* Row `j` of A times `v`. Four sums, since one would wait for each addition. */
static inline double row_times(int j, const double *v)
{
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    int end = row_start[j + 1];
    int k = row_start[j];
    for (; k + 4 <= end; k += 4) {
        s0 += entry[k] * v[column[k]];
        s1 += entry[k + 1] * v[column[k + 1]];
        s2 += entry[k + 2] * v[column[k + 2]];
        s3 += entry[k + 3] * v[column[k + 3]];
    }
    for (; k < end; k++)
        s0 += entry[k] * v[column[k]];
    return (s0 + s1) + (s2 + s3);
}

/* Solves A z = x; called by all threads of a team, with the sums cleared. Ends
 * with z complete and ||x - A z||^2 in sum_error.
 *
 * An iteration is three phases with a barrier after each. A sum is added to in
 * one phase and read by all in the next; it is cleared in the third, when
 * nobody looks at it. */
static void solve(void)
{
#pragma omp for schedule(static) reduction(+ : sum_xx)
    for (int j = 0; j < ROWS; j++) {
        z[j] = 0.0;
        r[j] = x[j];
        p[j] = x[j];
        sum_xx += x[j] * x[j];
    }
    double rho = sum_xx;

    for (int iteration = 0; iteration < SOLVER_ITERATIONS; iteration++) {
#pragma omp master
        sum_rr = 0.0;
#pragma omp for schedule(static) reduction(+ : sum_pq)
        for (int j = 0; j < ROWS; j++) {
            q[j] = row_times(j, p);
            sum_pq += p[j] * q[j];
        }

        double alpha = rho / sum_pq;
#pragma omp for schedule(static) reduction(+ : sum_rr)
        for (int j = 0; j < ROWS; j++) {
            z[j] += alpha * p[j];
            r[j] -= alpha * q[j];
            sum_rr += r[j] * r[j];
        }

        double beta = sum_rr / rho;
        rho = sum_rr;
#pragma omp master
        sum_pq = 0.0;
#pragma omp for schedule(static)
        for (int j = 0; j < ROWS; j++)
            p[j] = r[j] + beta * p[j];
    }

#pragma omp for schedule(static) reduction(+ : sum_error)
    for (int j = 0; j < ROWS; j++) {
        double difference = x[j] - row_times(j, z);
        sum_error += difference * difference;
    }
}

struct estimate {
    double zeta;     /* of the eigenvalue */
    double residual; /* ||x - A z|| */
};

/* One step of the inverse iteration. */
static struct estimate step(void)
{
    double sum_xz = 0.0;
    double sum_zz = 0.0;
    sum_xx = sum_pq = sum_rr = sum_error = 0.0;
#pragma omp parallel
    {
        solve();
#pragma omp for schedule(static) reduction(+ : sum_xz, sum_zz)
        for (int j = 0; j < ROWS; j++) {
            sum_xz += x[j] * z[j];
            sum_zz += z[j] * z[j];
        }
        double scale = 1.0 / sqrt(sum_zz);
#pragma omp for schedule(static) nowait
        for (int j = 0; j < ROWS; j++)
            x[j] = scale * z[j];
    }
    return (struct estimate){SHIFT + 1.0 / sum_xz, sqrt(sum_error)};
}

static void start(void)
{
#pragma omp parallel for schedule(static)
    for (int j = 0; j < ROWS; j++)
        x[j] = 1.0;
}

int main(int argc, char **argv)
{
    workload_fixed_arguments(argc, argv, "cg", NPB_CLASS_NAME, 0);
    double begin_s = workload_seconds();
    make_matrix();
    start();
    step(); /* untimed: touches everything */
    start();
    printf("  matrix: %d rows, %d entries; prepared in %.3f s\n", ROWS, row_start[ROWS],
           workload_seconds() - begin_s);

    struct estimate estimate = {0};
    double start_s = workload_seconds();
    for (int i = 0; i < STEPS; i++)
        estimate = step();
    double elapsed_s = workload_seconds() - start_s;

    printf("  residual of the last system %.3e\n", estimate.residual);
    const struct npb_check checks[] = {
        {"zeta", estimate.zeta,
         NPB_BY_CLASS(8.5971775078648, 10.362595087124, 17.130235054029, 22.712745482631,
                      28.973605592845)},
    };
    /* The published count, with the published estimate of a row's entries. */
    const double row = NONZEROS * (NONZEROS + 1.0);
    const struct workload_result result = {
        .suite = "npb",
        .name = "cg",
        .size = NPB_CLASS_NAME,
        .iterations = STEPS,
        .seconds = elapsed_s,
        .operations = 2.0 * STEPS * ROWS * (3.0 + row + SOLVER_ITERATIONS * (5.0 + row) + 3.0),
        .unit = "floating-point",
        .checksum = NAN,
        .verdict = npb_verify(checks, 1, 1e-10),
    };
    return workload_finish(&result);
}
