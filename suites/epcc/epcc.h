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

/* What a test is compared with: the same work without OpenMP. */
enum reference {
    REFERENCE_DELAY,       /* one delay per repetition */
    REFERENCE_ITERATIONS,  /* ITERATIONS_PER_THREAD iterations per repetition */
    REFERENCE_ADD,         /* one addition per repetition */
    REFERENCE_ADD_LONG,    /* one long double addition per repetition */
    REFERENCE_TREE,        /* the delays of one task tree, shared out evenly */
    REFERENCE_LEAVES       /* the same when only leaves work */
};

struct test {
    const char *name;
    enum reference reference;
    /* Runs `reps` repetitions, a multiple of the number of threads. Returns 0,
     * or the number of wrong results seen: a runtime that is fast because it
     * is wrong must not win. */
    long (*run)(long reps);
};

/* Iterations that each thread gets in the loop-scheduling tests. EPCC uses
 * 128 iterations of 15 us; an iteration here is a quarter of `delay_length`,
 * so that the cost of handing out a chunk is not lost in the work of the
 * chunk. */
#define ITERATIONS_PER_THREAD 128
#define iteration_length (delay_length / 4)

/* Depth of the binary task tree. */
#define TREE_DEPTH 6

extern long delay_length;
extern int threads;

/* Work that the compiler cannot remove, `length` steps long. */
void delay(long length);

extern const struct test sync_tests[];
extern const struct test sched_tests[];
extern const struct test task_tests[];
extern const struct test nest_tests[];

#endif
