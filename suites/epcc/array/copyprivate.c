/* An array of n doubles handed from one thread to the others. */
#include "epcc.h"
#include "sizes.h"
#include <stdatomic.h>

static atomic_long wrong_copies;

/* As EPCC does it, a region for each repetition: what the broadcast itself costs
 * is the difference from PRIVATE. The single thread's last element says which copy
 * is meant. */
#define FUNCTION(n)                                                            \
    static void copyprivate_##n(long reps)                                     \
    {                                                                          \
        double array[n];                                                       \
        for (long j = 0; j < reps; j++) {                                      \
            _Pragma("omp parallel private(array)")                             \
            {                                                                  \
                _Pragma("omp single copyprivate(array)")                       \
                {                                                              \
                    array_delay(array);                                        \
                    array[n - 1] = (double)j;                                  \
                }                                                              \
                if (array[n - 1] != (double)j)                                 \
                    atomic_fetch_add(&wrong_copies, 1);                        \
            }                                                                  \
        }                                                                      \
    }
EACH_SIZE(FUNCTION)

#define ENTRY(n) {n, copyprivate_##n},
static const struct size {
    long n;
    void (*work)(long reps);
} sizes[] = {EACH_SIZE(ENTRY){0, NULL}};

static const struct size *chosen;

static const char *choose(void)
{
    for (chosen = sizes; chosen->n; chosen++)
        if (chosen->n == value[0])
            return NULL;
    return SIZES;
}

static long copyprivate_array(long reps)
{
    long before = delays();
    chosen->work(reps);
    return atomic_exchange(&wrong_copies, 0) + (delays() - before != reps);
}

static const struct row copyprivate_rows[] = {
    {.name = "COPYPRIVATE", .parameters = {&array_size}, .prepare = choose,
     .reference = reference_array, .run = copyprivate_array},
    {.name = NULL},
};

ENTER_ROWS("array", copyprivate_rows);
