/* Data clauses on an array of n doubles. */
#include "epcc.h"
#include "sizes.h"
#include <stdatomic.h>

#define MARK 7.0

/* Counted apart from the clauses: a reduction would be measured with them. */
static atomic_long wrong_copies;

static void expect(double found, double wanted)
{
    if (found != wanted)
        atomic_fetch_add(&wrong_copies, 1);
}

/* The compiler knows the size, and the original lies where no thread writes:
 * beside a stack that is in use, reading it would cost a cache line more.
 *
 * In all three the first and the last element say which copy is meant. The
 * single construct has a region to itself in each repetition, as EPCC does it:
 * what its broadcast costs is the difference from PRIVATE. */
#define FUNCTIONS(n)                                                           \
    static void private_##n(long reps)                                         \
    {                                                                          \
        static double array[n];                                                \
        array[0] = MARK;                                                       \
        for (long j = 0; j < reps; j++) {                                      \
            _Pragma("omp parallel private(array)")                             \
            array_delay(array);                                                \
        }                                                                      \
        expect(array[0], MARK);                                                \
    }                                                                          \
    static void firstprivate_##n(long reps)                                    \
    {                                                                          \
        static double array[n];                                                \
        array[0] = MARK;                                                       \
        array[n - 1] = MARK;                                                   \
        for (long j = 0; j < reps; j++) {                                      \
            _Pragma("omp parallel firstprivate(array)")                        \
            {                                                                  \
                expect(array[0], MARK);                                        \
                expect(array[n - 1], MARK);                                    \
                array_delay(array);                                            \
            }                                                                  \
        }                                                                      \
        expect(array[0], MARK);                                                \
    }                                                                          \
    static void copyprivate_##n(long reps)                                     \
    {                                                                          \
        static double array[n];                                                \
        for (long j = 0; j < reps; j++) {                                      \
            _Pragma("omp parallel private(array)")                             \
            {                                                                  \
                _Pragma("omp single copyprivate(array)")                       \
                {                                                              \
                    array_delay(array);                                        \
                    array[n - 1] = (double)j;                                  \
                }                                                              \
                expect(array[n - 1], (double)j);                               \
            }                                                                  \
        }                                                                      \
    }
EACH_SIZE(FUNCTIONS)

#define ENTRY(n) {n, private_##n, firstprivate_##n, copyprivate_##n},
static const struct size {
    long n;
    void (*keep)(long reps);
    void (*take)(long reps);
    void (*hand_on)(long reps);
} sizes[] = {EACH_SIZE(ENTRY){0, NULL, NULL, NULL}};

static const struct size *chosen;

static const char *choose(void)
{
    for (chosen = sizes; chosen->n; chosen++)
        if (chosen->n == value[0])
            return NULL;
    return SIZES;
}

/* `calls`: how many delays there must have been. */
static long counted(void (*work)(long reps), long reps, long calls)
{
    long before = delays();
    work(reps);
    return atomic_exchange(&wrong_copies, 0) + (delays() - before != calls);
}

static long private_array(long reps) { return counted(chosen->keep, reps, reps * threads); }
static long firstprivate_array(long reps) { return counted(chosen->take, reps, reps * threads); }
static long copyprivate_array(long reps) { return counted(chosen->hand_on, reps, reps); }

#define SIZED(row_name, function)                                                         \
    {.name = row_name, .parameters = {&array_size}, .prepare = choose,                    \
     .reference = reference_array, .run = function}

static const struct row array_rows[] = {
    SIZED("PRIVATE", private_array),
    SIZED("FIRSTPRIVATE", firstprivate_array),
    SIZED("COPYPRIVATE", copyprivate_array),
    {.name = NULL},
};

ENTER_ROWS("array", array_rows);
