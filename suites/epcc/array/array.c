/* Data clauses on an array of n doubles. */
#include "epcc.h"
#include <stdatomic.h>
#include <stdlib.h>

#define MARK 7.0

/* Counted apart from the clauses: a reduction would be measured with them. */
static atomic_long wrong_copies;

static void expect(double found, double wanted)
{
    if (found != wanted)
        atomic_fetch_add(&wrong_copies, 1);
}

static long all_wrong(long before, long calls)
{
    return atomic_exchange(&wrong_copies, 0) + (delays() - before != calls);
}

/* The original must stay what it was. */
static long private_array(long reps)
{
    long n = value[0], before = delays();
    double array[n];
    array[0] = array[n - 1] = MARK;
    for (long j = 0; j < reps; j++) {
#pragma omp parallel private(array)
        array_delay(array);
    }
    expect(array[0], MARK);
    return all_wrong(before, reps * threads);
}

static long firstprivate_array(long reps)
{
    long n = value[0], before = delays();
    double array[n];
    array[0] = array[n - 1] = MARK; /* a sample is too short to fill it */
    for (long j = 0; j < reps; j++) {
#pragma omp parallel firstprivate(array)
        {
            expect(array[0], MARK);
            expect(array[n - 1], MARK);
            array_delay(array);
        }
    }
    expect(array[0], MARK);
    return all_wrong(before, reps * threads);
}

static double *sums;

static const char *provide_sums(void)
{
    free(sums);
    sums = calloc((size_t)value[0], sizeof *sums);
    return sums ? NULL : "there is not enough memory";
}

static long reduction_array(long reps)
{
    long n = value[0], before = delays();
    double *array = sums;
    array[0] = array[n - 1] = 0.0;
    for (long j = 0; j < reps; j++) {
#pragma omp parallel reduction(+ : array[:n])
        {
            array_delay(array); /* makes the first element 1 */
            if (n > 1)
                array[n - 1] += 2.0;
        }
    }
    expect(array[0], (double)(reps * threads));
    if (n > 1)
        expect(array[n - 1], 2.0 * (double)(reps * threads));
    return all_wrong(before, reps * threads);
}

#define SIZED(row_name, function) \
    .name = row_name, .parameters = {&array_size}, .reference = reference_array, .run = function

static const struct row array_rows[] = {
    {SIZED("PRIVATE", private_array)},
    {SIZED("FIRSTPRIVATE", firstprivate_array)},
    {SIZED("REDUCTION", reduction_array), .prepare = provide_sums},
    {.name = NULL},
};

ENTER_ROWS("array", array_rows);
