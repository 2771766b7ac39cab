/* Atomic updates that no processor has an instruction for. */
#include "epcc.h"

/* gcc falls back on GOMP_atomic_start and GOMP_atomic_end; clang on libatomic,
 * without which this file does not link. */
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

static const struct row atomic_long_rows[] = {
    {.name = "ATOMIC LONG DOUBLE", .reference = reference_add_long, .run = atomic_long,
     .shared_out = 1},
    {.name = NULL},
};

ENTER_ROWS("sync", atomic_long_rows);
