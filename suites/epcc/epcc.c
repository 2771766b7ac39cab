/* What the rows are compared with, and what they are measured for. */
#include "epcc.h"
#include <sched.h>

#define CHUNKS .name = "chunk", .symbol = "n", .unit = "iterations", .values = chunks

static const long chunks[] = {1, 2, 4, 8, 16, 32, 64, 128, 0};
const struct parameter chunk = {CHUNKS, .quick = (const long[]){1, 4, 16, 0}};
const struct parameter variant_chunk = {CHUNKS, .quick = (const long[]){1, 0}};

const struct parameter array_size = {
    .name = "array",
    .symbol = "n",
    .unit = "doubles",
    .values = (const long[]){1, 3, 9, 27, 81, 243, 729, 2187, 6561, 19683, 59049, 177147, 0},
    .quick = (const long[]){1, 729, 59049, 0},
};

static double sum;
static long double sum_long;

void reference_delay(long reps)
{
    for (long j = 0; j < reps; j++)
        delay(delay_length);
}

void reference_iterations(long reps)
{
    for (long j = 0; j < reps * ITERATIONS_PER_THREAD; j++)
        delay(iteration_length);
}

void reference_add(long reps)
{
    for (long j = 0; j < reps; j++) {
        sum += 1.0;
        __asm__ volatile("" ::: "memory");
    }
}

void reference_add_long(long reps)
{
    for (long j = 0; j < reps; j++) {
        sum_long += 1.0L;
        __asm__ volatile("" ::: "memory");
    }
}

static int counting;
static long exclusive_delays;

/* A count that is read before the delay and written after it loses the delays of
 * any thread that comes in between. */
static void counted_delay(void)
{
    long before = exclusive_delays;
    delay(20000);  /* long enough for all threads to have begun, in the end */
    sched_yield(); /* for threads that share a processor */
    exclusive_delays = before + 1;
}

void exclusive_delay(void)
{
    if (counting)
        counted_delay();
    else
        delay(delay_length);
}

long intrusions(long (*run)(long reps))
{
    /* Few, because a spinning team with too few processors needs a time slice for
     * each. */
    long reps = 50L * threads;
    exclusive_delays = 0;
    counting = 1;
    long wrong = run(reps);
    counting = 0;
    return wrong + reps - exclusive_delays;
}

void array_delay(double *array)
{
    delay(delay_length);
    array[0] = 1.0;
    __asm__ volatile("" ::"r"(array) : "memory");
}

void reference_array(long reps)
{
    double array[1];
    for (long j = 0; j < reps; j++)
        array_delay(array);
}

void change(double *array, long n)
{
    for (long i = 0; i < n; i++)
        array[i] += 1.0;
}
