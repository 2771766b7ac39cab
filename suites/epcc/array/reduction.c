/* A reduction over an array of n doubles. */
#include "epcc.h"
#include <stdlib.h>

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
    double *array = sums, each = (double)(reps * threads);
    array[0] = array[n - 1] = 0.0;
    for (long j = 0; j < reps; j++) {
#pragma omp parallel reduction(+ : array[:n])
        {
            array_delay(array); /* makes the first element 1 */
            if (n > 1)
                array[n - 1] += 2.0;
        }
    }
    return (array[0] != each) + (n > 1 && array[n - 1] != 2.0 * each) +
           (delays() - before != reps * threads);
}

static const struct row reduction_rows[] = {
    {.name = "REDUCTION", .parameters = {&array_size}, .prepare = provide_sums,
     .reference = reference_array, .run = reduction_array},
    {.name = NULL},
};

ENTER_ROWS("array", reduction_rows);
