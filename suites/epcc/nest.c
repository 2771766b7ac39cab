/* Nested teams: each thread of the outer team forks a team of two. */
#include "epcc.h"
#include <omp.h>

static long nested_parallel(long reps)
{
    long before = delays();
    omp_set_max_active_levels(2);
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp parallel num_threads(2)
        delay(delay_length);
    }
    return delays() - before != reps * threads * 2;
}

/* The inner region is inactive: one thread, so no team has to be formed. */
static long nested_serial(long reps)
{
    long before = delays();
    omp_set_max_active_levels(1);
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp parallel
        delay(delay_length);
    }
    return delays() - before != reps * threads;
}

static const struct row nest_rows[] = {
    {.name = "NESTED PARALLEL", .reference = reference_delay, .run = nested_parallel},
    {.name = "NESTED SERIAL", .reference = reference_delay, .run = nested_serial},
    {.name = NULL},
};

ENTER_ROWS("nest", nest_rows);
