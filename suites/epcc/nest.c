/* Nested teams: each thread of the outer team forks a team of two. */
#include "epcc.h"
#include <omp.h>
#include <stddef.h>

static long nested_parallel(long reps)
{
    omp_set_max_active_levels(2);
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp parallel num_threads(2)
        delay(delay_length);
    }
    return 0;
}

/* The inner region is inactive: one thread, so no team has to be formed. */
static long nested_serial(long reps)
{
    omp_set_max_active_levels(1);
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp parallel
        delay(delay_length);
    }
    return 0;
}

const struct test nest_tests[] = {
    {"NESTED PARALLEL", REFERENCE_DELAY, nested_parallel},
    {"NESTED SERIAL", REFERENCE_DELAY, nested_serial},
    {NULL, REFERENCE_DELAY, NULL},
};
