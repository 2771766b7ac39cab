/* An array of n doubles handed from one thread to the others. */
#include "epcc.h"
#include "sizes.h"

/* The single thread's last element says which copy is meant. Returns wrong
 * copies. */
#define FUNCTION(n)                                                            \
    static long copyprivate_##n(long reps)                                     \
    {                                                                          \
        long wrong = 0;                                                        \
        _Pragma("omp parallel reduction(+ : wrong)")                           \
        {                                                                      \
            double array[n];                                                   \
            for (long j = 0; j < reps; j++) {                                  \
                _Pragma("omp single copyprivate(array)")                       \
                {                                                              \
                    array_delay(array);                                        \
                    array[n - 1] = (double)j;                                  \
                }                                                              \
                wrong += array[n - 1] != (double)j;                            \
            }                                                                  \
        }                                                                      \
        return wrong;                                                          \
    }
EACH_SIZE(FUNCTION)

#define ENTRY(n) {n, copyprivate_##n},
static const struct size {
    long n;
    long (*work)(long reps);
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
    long wrong = chosen->work(reps);
    return wrong + (delays() - before != reps);
}

static const struct row copyprivate_rows[] = {
    {.name = "COPYPRIVATE", .parameters = {&array_size}, .prepare = choose,
     .reference = reference_array, .run = copyprivate_array},
    {.name = NULL},
};

ENTER_ROWS("array", copyprivate_rows);
