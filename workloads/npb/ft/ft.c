/* NPB FT: a partial differential equation solved with fast Fourier transforms
 * (RNR-94-007, section 3.3).
 *
 * A random field is transformed once; then, for each time t, its spectrum times
 * exp(-4 alpha pi^2 k^2 t) is transformed back and 1024 points of the result are
 * summed. All of this is timed, the preparation included.
 *
 * Parallel: one team for all of it; loops over planes of the slowest index,
 * except for the transform along that one. What it is there to show: lines along
 * y and z cross the whole array, so memory bandwidth and, on machines with more
 * than one node, remote pages bound it; every thread's planes are read by all
 * others at the transform along z.
 */
#include "ft.h"
#include "published.h"
#include <math.h>
#include <stdio.h>

#define SEED UINT64_C(314159265)
#define ALPHA 1e-6
#define SAMPLES 1024

static ft_plane spectrum[FT_NZ], field[FT_NZ];

/* The numbers of a plane follow those of the plane before; each thread skips to
 * its own. */
static void fill_randomly(ft_plane *u)
{
#pragma omp for
    for (int k = 0; k < FT_NZ; k++) {
        uint64_t skip = npb_power(NPB_MULTIPLIER, 2 * (uint64_t)k * FT_NX * FT_NY);
        uint64_t x = npb_step(SEED, skip);
        for (int j = 0; j < FT_NY; j++)
            for (int i = 0; i < FT_NX; i++) {
                u[k][j][i].re = npb_random(&x, NPB_MULTIPLIER);
                u[k][j][i].im = npb_random(&x, NPB_MULTIPLIER);
            }
    }
}

/* The wave number of index i of n, or rather its magnitude. */
static int wave_number(int i, int n)
{
    return i < n / 2 ? i : n - i;
}

/* field = spectrum after `time` steps. The factor exp(-4 alpha pi^2 k^2 t) is a
 * product of one for each axis, and depends there on the wave number alone. */
static void evolve(int time)
{
    double decay[FT_MAX_N / 2 + 1], decay_x[FT_NX];
    const double pi = acos(-1.0), rate = -4.0 * ALPHA * pi * pi * time;
    for (int m = 0; m <= FT_MAX_N / 2; m++)
        decay[m] = exp(rate * m * m);
    for (int i = 0; i < FT_NX; i++)
        decay_x[i] = decay[wave_number(i, FT_NX)];
#pragma omp for
    for (int k = 0; k < FT_NZ; k++)
        for (int j = 0; j < FT_NY; j++) {
            double decay_yz = decay[wave_number(k, FT_NZ)] * decay[wave_number(j, FT_NY)];
            for (int i = 0; i < FT_NX; i++) {
                double factor = decay_yz * decay_x[i];
                field[k][j][i].re = factor * spectrum[k][j][i].re;
                field[k][j][i].im = factor * spectrum[k][j][i].im;
            }
        }
}

/* The mean over all points, had the samples been all points. */
static void checksum(struct ft_complex *result)
{
    static double re, im;
#pragma omp single
    re = im = 0.0;
#pragma omp for reduction(+ : re, im)
    for (int j = 1; j <= SAMPLES; j++) {
        const struct ft_complex *sample = &field[5 * j % FT_NZ][3 * j % FT_NY][j % FT_NX];
        re += sample->re;
        im += sample->im;
    }
#pragma omp single
    *result = (struct ft_complex){re / FT_POINTS, im / FT_POINTS};
}

static void solve(int iterations, struct ft_complex *checksums)
{
    ft_prepare();
#pragma omp parallel
    {
        fill_randomly(spectrum);
        ft_transform(-1, spectrum);
        for (int i = 0; i < iterations; i++) {
            evolve(i + 1);
            ft_transform(1, field);
            checksum(&checksums[i]);
        }
    }
}

int main(int argc, char **argv)
{
    static struct ft_complex checksums[FT_ITERATIONS];
    struct npb_check checks[2 * FT_ITERATIONS];
    char names[2 * FT_ITERATIONS][24];

    workload_fixed_arguments(argc, argv, "ft", NPB_CLASS_NAME, 0);
    workload_threads();
    solve(1, checksums); /* untimed: touches all memory */

    double start = workload_seconds();
    solve(FT_ITERATIONS, checksums);
    double seconds = workload_seconds() - start;

    for (int i = 0; i < FT_ITERATIONS; i++) {
        snprintf(names[2 * i], sizeof names[0], "real %d", i + 1);
        snprintf(names[2 * i + 1], sizeof names[0], "imaginary %d", i + 1);
        checks[2 * i] = (struct npb_check){names[2 * i], checksums[i].re, ft_published[i].re};
        checks[2 * i + 1] =
            (struct npb_check){names[2 * i + 1], checksums[i].im, ft_published[i].im};
    }
    struct workload_result result = {
        .suite = "npb",
        .name = "ft",
        .size = NPB_CLASS_NAME,
        .iterations = FT_ITERATIONS,
        .seconds = seconds,
        .operations = FT_POINTS * (14.8157 + 7.19641 * log(FT_POINTS) +
                                   FT_ITERATIONS * (5.23518 + 7.21113 * log(FT_POINTS))),
        .unit = "floating-point",
        .checksum = NAN,
        .verdict = npb_verify(checks, 2 * FT_ITERATIONS, 1e-12),
    };
    return workload_finish(&result);
}
