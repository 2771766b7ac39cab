/* Fork/join, worksharing and mutual exclusion. */
#include "epcc.h"
#include <omp.h>
#include <stddef.h>

static long parallel(long reps)
{
    for (long j = 0; j < reps; j++) {
#pragma omp parallel
        delay(delay_length);
    }
    return 0;
}

static long for_loop(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp for
        for (int i = 0; i < threads; i++)
            delay(delay_length);
    }
    return 0;
}

static long parallel_for(long reps)
{
    for (long j = 0; j < reps; j++) {
#pragma omp parallel for
        for (int i = 0; i < threads; i++)
            delay(delay_length);
    }
    return 0;
}

static long barrier(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
        delay(delay_length);
#pragma omp barrier
    }
    return 0;
}

static long single(long reps)
{
    long count = 0;
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp single
        {
            delay(delay_length);
            count++;
        }
    }
    return count != reps;
}

static long copyprivate(long reps)
{
    long wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (long j = 0; j < reps; j++) {
        long got = -1;
#pragma omp single copyprivate(got)
        {
            delay(delay_length);
            got = j;
        }
        wrong += got != j;
    }
    return wrong;
}

static long master(long reps)
{
    long count = 0;
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp master
        {
            delay(delay_length);
            count++;
        }
    }
    return count != reps;
}

static long critical(long reps)
{
    long count = 0;
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
#pragma omp critical
        {
            delay(delay_length);
            count++;
        }
    }
    return count != reps;
}

static long critical_name(long reps)
{
    long count = 0;
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
#pragma omp critical(epcc)
        {
            delay(delay_length);
            count++;
        }
    }
    return count != reps;
}

static long lock(long reps)
{
    long count = 0;
    omp_lock_t guard;
    omp_init_lock(&guard);
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
        omp_set_lock(&guard);
        delay(delay_length);
        count++;
        omp_unset_lock(&guard);
    }
    omp_destroy_lock(&guard);
    return count != reps;
}

static long nest_lock(long reps)
{
    long count = 0;
    omp_nest_lock_t guard;
    omp_init_nest_lock(&guard);
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
        omp_set_nest_lock(&guard);
        delay(delay_length);
        count++;
        omp_unset_nest_lock(&guard);
    }
    omp_destroy_nest_lock(&guard);
    return count != reps;
}

static long ordered(long reps)
{
    long next = 0, wrong = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (long j = 0; j < reps; j++) {
#pragma omp ordered
        {
            delay(delay_length);
            wrong += next != j;
            next++;
        }
    }
    return wrong + (next != reps);
}

static long atomic(long reps)
{
    double sum = 0.0;
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
#pragma omp atomic
        sum += 1.0;
    }
    return sum != (double)reps;
}

/* No processor adds long doubles atomically: gcc falls back on
 * GOMP_atomic_start and GOMP_atomic_end. */
static long atomic_long(long reps)
{
    long double sum = 0.0L;
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
#pragma omp atomic
        sum += 1.0L;
    }
    return sum != (long double)reps;
}

static long reduction(long reps)
{
    long wrong = 0;
    for (long j = 0; j < reps; j++) {
        int sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            delay(delay_length);
            sum += 1;
        }
        wrong += sum != threads;
    }
    return wrong;
}

const struct test sync_tests[] = {
    {"PARALLEL", REFERENCE_DELAY, parallel},
    {"FOR", REFERENCE_DELAY, for_loop},
    {"PARALLEL FOR", REFERENCE_DELAY, parallel_for},
    {"BARRIER", REFERENCE_DELAY, barrier},
    {"SINGLE", REFERENCE_DELAY, single},
    {"COPYPRIVATE", REFERENCE_DELAY, copyprivate},
    {"MASTER", REFERENCE_DELAY, master},
    {"CRITICAL", REFERENCE_DELAY, critical},
    {"CRITICAL NAME", REFERENCE_DELAY, critical_name},
    {"LOCK/UNLOCK", REFERENCE_DELAY, lock},
    {"NEST LOCK", REFERENCE_DELAY, nest_lock},
    {"ORDERED", REFERENCE_DELAY, ordered},
    {"ATOMIC", REFERENCE_ADD, atomic},
    {"ATOMIC LONG DOUBLE", REFERENCE_ADD_LONG, atomic_long},
    {"REDUCTION", REFERENCE_DELAY, reduction},
    {NULL, REFERENCE_DELAY, NULL},
};
