/* Fork/join, worksharing and mutual exclusion. */
#include "epcc.h"
#include <omp.h>
#include <sched.h>

static long parallel(long reps)
{
    long before = delays();
    for (long j = 0; j < reps; j++) {
#pragma omp parallel
        delay(delay_length);
    }
    return delays() - before != reps * threads;
}

static long for_loop(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp for
        for (int i = 0; i < threads; i++)
            delay(delay_length);
    }
    return delays() - before != reps * threads;
}

static long parallel_for(long reps)
{
    long before = delays();
    for (long j = 0; j < reps; j++) {
#pragma omp parallel for
        for (int i = 0; i < threads; i++)
            delay(delay_length);
    }
    return delays() - before != reps * threads;
}

static long barrier(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
        delay(delay_length);
#pragma omp barrier
    }
    return delays() - before != reps * threads;
}

/* The initial thread arrives late, when the others already wait. */
static long barrier_late(long reps)
{
    long before = delays();
#pragma omp parallel
    {
        long length = omp_get_thread_num() == 0 ? delay_length : delay_length / 2;
        for (long j = 0; j < reps; j++) {
            delay(length);
#pragma omp barrier
        }
    }
    return delays() - before != reps * threads;
}

/* No thread leaves a barrier before all have come. */
static long barrier_waits(void)
{
    long arrived = 0, wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (long j = 1; j <= 100; j++) {
        long seen;
#pragma omp atomic
        arrived++;
#pragma omp barrier
#pragma omp atomic read
        seen = arrived;
        wrong += seen != j * threads;
#pragma omp barrier
    }
    return wrong;
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
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
#pragma omp critical
        exclusive_delay();
    }
    return delays() - before != reps;
}

static long critical_excludes(void) { return intrusions(critical); }

static long critical_name(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
#pragma omp critical(epcc)
        exclusive_delay();
    }
    return delays() - before != reps;
}

static long critical_name_excludes(void) { return intrusions(critical_name); }

static long lock(long reps)
{
    long before = delays();
    static struct {
        OWN_LINE omp_lock_t lock;
    } guard;
    omp_init_lock(&guard.lock);
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
        omp_set_lock(&guard.lock);
        exclusive_delay();
        omp_unset_lock(&guard.lock);
    }
    omp_destroy_lock(&guard.lock);
    return delays() - before != reps;
}

static long lock_excludes(void) { return intrusions(lock); }

/* Each thread has a lock of its own. */
static long lock_uncontended(long reps)
{
    long before = delays();
#pragma omp parallel
    {
        omp_lock_t own;
        omp_init_lock(&own);
        for (long j = 0; j < reps; j++) {
            omp_set_lock(&own);
            delay(delay_length);
            omp_unset_lock(&own);
        }
        omp_destroy_lock(&own);
    }
    return delays() - before != reps * threads;
}

static long nest_lock(long reps)
{
    long before = delays();
    static struct {
        OWN_LINE omp_nest_lock_t lock;
    } guard;
    omp_init_nest_lock(&guard.lock);
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
        omp_set_nest_lock(&guard.lock);
        exclusive_delay();
        omp_unset_nest_lock(&guard.lock);
    }
    omp_destroy_nest_lock(&guard.lock);
    return delays() - before != reps;
}

static long nest_lock_excludes(void) { return intrusions(nest_lock); }

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

static long atomic_seq_cst(long reps)
{
    double sum = 0.0;
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
#pragma omp atomic seq_cst
        sum += 1.0;
    }
    return sum != (double)reps;
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

static long flush(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
        delay(delay_length);
#pragma omp flush
    }
    return delays() - before != reps * threads;
}

/* What was written before a flush is read after one. */
static long flush_shows(void)
{
    long message = 0, ready = 0, wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (long j = 1; j <= 20; j++) {
#pragma omp master
        {
            message = j;
#pragma omp flush
#pragma omp atomic write
            ready = j;
        }
        for (long seen = 0; seen < j;) {
#pragma omp atomic read
            seen = ready;
            if (seen < j)
                sched_yield();
        }
#pragma omp flush
        wrong += message != j;
#pragma omp barrier
    }
    return wrong;
}

static const struct row sync_rows[] = {
    {.name = "PARALLEL", .reference = reference_delay, .run = parallel},
    {.name = "FOR", .reference = reference_delay, .run = for_loop},
    {.name = "PARALLEL FOR", .reference = reference_delay, .run = parallel_for},
    {.name = "BARRIER", .reference = reference_delay, .run = barrier, .check = barrier_waits},
    {.name = "BARRIER VAR", .reference = reference_delay, .run = barrier_late},
    {.name = "SINGLE", .reference = reference_delay, .run = single},
    {.name = "COPYPRIVATE", .reference = reference_delay, .run = copyprivate},
    {.name = "MASTER", .reference = reference_delay, .run = master},
    {.name = "CRITICAL", .reference = reference_delay, .run = critical,
     .check = critical_excludes, .shared_out = 1},
    {.name = "CRITICAL NAME", .reference = reference_delay, .run = critical_name,
     .check = critical_name_excludes, .shared_out = 1},
    {.name = "LOCK/UNLOCK", .reference = reference_delay, .run = lock,
     .check = lock_excludes, .shared_out = 1},
    {.name = "LOCK UNCONTENDED", .reference = reference_delay, .run = lock_uncontended},
    {.name = "NEST LOCK", .reference = reference_delay, .run = nest_lock,
     .check = nest_lock_excludes, .shared_out = 1},
    {.name = "ORDERED", .reference = reference_delay, .run = ordered},
    {.name = "ATOMIC", .reference = reference_add, .run = atomic, .shared_out = 1},
    {.name = "ATOMIC SEQCST", .reference = reference_add, .run = atomic_seq_cst, .shared_out = 1},
    {.name = "REDUCTION", .reference = reference_delay, .run = reduction},
    {.name = "FLUSH", .reference = reference_delay, .run = flush, .check = flush_shows},
    {.name = NULL},
};

ENTER_ROWS("sync", sync_rows);
