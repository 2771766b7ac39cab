/* Locks with hints about their use. */
#include "epcc.h"
#include <omp.h>

/* One lock for all. */
static long hinted_lock(omp_sync_hint_t hint, long reps)
{
    long before = delays();
    static struct {
        OWN_LINE omp_lock_t lock;
    } guard;
    omp_init_lock_with_hint(&guard.lock, hint);
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
        omp_set_lock(&guard.lock);
        exclusive_delay();
        omp_unset_lock(&guard.lock);
    }
    omp_destroy_lock(&guard.lock);
    return delays() - before != reps;
}

static long lock_contended(long reps)
{
    return hinted_lock(omp_sync_hint_contended, reps);
}

static long contended_excludes(void) { return intrusions(lock_contended); }

static long lock_nonspeculative(long reps)
{
    return hinted_lock(omp_sync_hint_nonspeculative, reps);
}

static long nonspeculative_excludes(void) { return intrusions(lock_nonspeculative); }

static long lock_speculative(long reps)
{
    return hinted_lock(omp_sync_hint_speculative, reps);
}

static long speculative_excludes(void) { return intrusions(lock_speculative); }

/* Each thread has a lock of its own. */
static long lock_uncontended(long reps)
{
    long before = delays();
#pragma omp parallel
    {
        omp_lock_t own;
        omp_init_lock_with_hint(&own, omp_sync_hint_uncontended);
        for (long j = 0; j < reps; j++) {
            omp_set_lock(&own);
            delay(delay_length);
            omp_unset_lock(&own);
        }
        omp_destroy_lock(&own);
    }
    return delays() - before != reps * threads;
}

static const struct row hint_rows[] = {
    {.name = "LOCK UNCONTENDED HINT", .reference = reference_delay, .run = lock_uncontended},
    {.name = "LOCK CONTENDED HINT", .reference = reference_delay, .run = lock_contended,
     .check = contended_excludes, .shared_out = 1},
    {.name = "LOCK NONSPECULATIVE HINT", .reference = reference_delay, .run = lock_nonspeculative,
     .check = nonspeculative_excludes, .shared_out = 1},
    {.name = "LOCK SPECULATIVE HINT", .reference = reference_delay, .run = lock_speculative,
     .check = speculative_excludes, .shared_out = 1},
    {.name = NULL},
};

ENTER_ROWS("sync", hint_rows);
