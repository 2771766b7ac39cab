/* What every workload does alike: time, threads, and its last line.
 *
 * A workload prints what people want to read and then, as its last line on
 * stdout, one JSON object that programs read (`struct workload_result`).
 * Its exit code is 0 if the result is right or nobody can say, 1 if it is
 * wrong, 2 if it was called wrongly. Built without OpenMP it is the serial
 * program that the parallel one is compared with.
 */
#ifndef FATHOMP_WORKLOAD_H
#define FATHOMP_WORKLOAD_H

#include <math.h>
#include <stddef.h>

/* Whether a result was found right. */
enum workload_verdict {
    WORKLOAD_WRONG = 0,
    WORKLOAD_RIGHT = 1,
    WORKLOAD_UNKNOWN = 2 /* nothing to compare with inside the program */
};

struct workload_result {
    const char *suite;    /* "npb", "polybench", "patterns" */
    const char *name;     /* lower case: "cg" */
    const char *size;     /* class or data set: "W", "mini" */
    long iterations;      /* repetitions inside the timed section */
    double seconds;       /* of the timed section */
    double operations;    /* in the timed section; 0 if nobody counts them */
    const char *unit;     /* of `operations`: "floating-point", "keys ranked" */
    double checksum;      /* NAN if the verdict is the program's own */
    enum workload_verdict verdict;
};

/* Seconds from some fixed moment, from the kernel's monotonic clock: never
 * from the runtime that is being judged. */
double workload_seconds(void);

/* Threads that a parallel region gets; 1 without OpenMP. Forms the team, so
 * that its creation is outside timed sections. */
int workload_threads(void);

/* Answers `--describe` (one JSON line with the name, the size and the bytes
 * that the program will allocate on the heap, then exit 0) and refuses any
 * other argument with exit 2. Returns if there are no arguments. For programs
 * whose size is fixed when they are built. */
void workload_fixed_arguments(int argc, char **argv, const char *name, const char *size,
                              size_t heap_bytes);

/* The answer to `--describe`. */
void workload_describe(const char *name, const char *size, size_t heap_bytes);

/* `bytes` of zeroed, untouched memory at a page boundary, for the rest of the
 * run; if there is none, says so and exits with 2. */
void *workload_allocate(size_t bytes);

/* Prints the summary and the JSON line; returns the exit code for main. */
int workload_finish(const struct workload_result *result);

#endif
