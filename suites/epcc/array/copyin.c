/* Threadprivate arrays of n doubles, left alone and copied in. */
#include "epcc.h"
#include "sizes.h"
#include <stdatomic.h>

static atomic_long wrong_copies;

/* A threadprivate array has a constant size, so every size has its own array
 * and functions. The initial thread's last element says which copy is meant.
 * An array that is not copied in must keep what its thread wrote. */
#define ARRAY(n)                                                               \
    static double array_##n[n];                                                \
    _Pragma(PRAGMA(omp threadprivate(array_##n)))                              \
    static void threadprivate_##n(long reps)                                   \
    {                                                                          \
        for (long j = 0; j < reps; j++) {                                      \
            _Pragma("omp parallel")                                            \
            {                                                                  \
                if (j > 0 && array_##n[0] != 1.0)                              \
                    atomic_fetch_add(&wrong_copies, 1);                        \
                array_delay(array_##n);                                        \
            }                                                                  \
        }                                                                      \
    }                                                                          \
    static void copyin_##n(long reps)                                          \
    {                                                                          \
        for (long j = 0; j < reps; j++) {                                      \
            array_##n[n - 1] = (double)j;                                      \
            _Pragma(PRAGMA(omp parallel copyin(array_##n)))                    \
            {                                                                  \
                if (array_##n[n - 1] != (double)j)                             \
                    atomic_fetch_add(&wrong_copies, 1);                        \
                delay(delay_length);                                           \
                __asm__ volatile("" ::"r"(array_##n) : "memory");              \
            }                                                                  \
        }                                                                      \
    }
#define PRAGMA(text) #text

EACH_SIZE(ARRAY)

#define ENTRY(n) {n, threadprivate_##n, copyin_##n},
static const struct size {
    long n;
    void (*keep)(long reps);
    void (*copy)(long reps);
} sizes[] = {EACH_SIZE(ENTRY){0, NULL, NULL}};

static const struct size *chosen;

static const char *choose(void)
{
    for (chosen = sizes; chosen->n; chosen++)
        if (chosen->n == value[0])
            return NULL;
    return SIZES;
}

static long counted(void (*work)(long reps), long reps)
{
    long before = delays();
    work(reps);
    return atomic_exchange(&wrong_copies, 0) + (delays() - before != reps * threads);
}

static long threadprivate_array(long reps) { return counted(chosen->keep, reps); }
static long copyin_array(long reps) { return counted(chosen->copy, reps); }

#define SIZED(row_name, function)                                                         \
    {.name = row_name, .parameters = {&array_size}, .prepare = choose,                    \
     .reference = reference_array, .run = function}

static const struct row copyin_rows[] = {
    SIZED("THREADPRIVATE", threadprivate_array),
    SIZED("COPYIN", copyin_array),
    {.name = NULL},
};

ENTER_ROWS("array", copyin_rows);
