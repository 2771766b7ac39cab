/* Overheads of OpenMP constructs by EPCC's method.
 *
 * The method (J. M. Bull, "Measuring Synchronisation and Scheduling Overheads
 * in OpenMP", EWOMP 1999): run a piece of known work once with the construct
 * around it and once without, both often enough to fill a target time; the
 * overhead is the difference per repetition. These programs are written from
 * that description; the rows keep EPCC's names where EPCC has the row.
 */
#ifndef FATHOMP_EPCC_H
#define FATHOMP_EPCC_H

#include "bench.h"
#include "delay.h"
#include <stddef.h>

/* Iterations that each thread gets in the loop-scheduling rows. EPCC uses
 * 128 iterations of 15 us; an iteration here is a quarter of `delay_length`,
 * so that the cost of handing out a chunk is not lost in the work of the
 * chunk. */
#define ITERATIONS_PER_THREAD 128
#define iteration_length (delay_length / 4)

/* Delays in a tree of tasks. */
#define TREE_SIZE 64

/* For a lock that threads contend for: beside a stack that is in use it costs half
 * as much again. */
#define OWN_LINE _Alignas(64)

/* What a row is compared with: `reps` repetitions of its work without OpenMP. */
void reference_delay(long reps);       /* one delay each */
void reference_iterations(long reps);  /* ITERATIONS_PER_THREAD iterations each */
void reference_add(long reps);         /* one addition each */
void reference_add_long(long reps);    /* one long double addition each */
void reference_array(long reps);       /* one array_delay each */

/* A delay beside which no other thread may run one. */
void exclusive_delay(void);

/* How many such delays of `run` had company, as far as can be seen: none, if what
 * it measures excludes other threads. A check of its own, because counting moves a
 * cache line from thread to thread, which costs more than some locks. */
long intrusions(long (*run)(long reps));

/* A delay that uses an array, so that the compiler must provide it. */
void array_delay(double *array);

/* Adds 1 to each of `n` doubles. Here, so that no caller gets a copy of its own
 * that is compiled differently. */
void change(double *array, long n);

/* Sizes of arrays in doubles: powers of 3. */
extern const struct parameter array_size;
#define MAX_ARRAY_SIZE 177147

/* Chunks of a loop: powers of 2. The second is for variants of a schedule, of
 * which a short run takes one chunk only. */
extern const struct parameter chunk, variant_chunk;

#endif
