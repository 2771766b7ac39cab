/* What every pattern of the scalability study is to the rest of the program.
 *
 * A pattern file defines one `pattern`: how much data, what is done to them, and
 * how its result is checked. Options, sizes, time and the answer are handled
 * here, the same way for all.
 *
 * Words are unsigned and wrap around, so that sums are exact, do not depend on
 * the number of threads, and can be checked against a closed form.
 */
#ifndef FATHOMP_PATTERN_H
#define FATHOMP_PATTERN_H

#include "options.h"
#include "workload.h"
#include <stdbool.h>
#include <stdint.h>

/* Without -fopenmp compilers do not know `omp`. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

/* What the command line asks for. */
struct pattern_plan {
    size_t bytes; /* that the data shall take, about */
    long repeat;
    const long *value; /* of the pattern's options: the number, or which word */
};

struct pattern {
    const char *name;
    const char *about; /* one line: what it shows */
    struct own_option option[OWN_OPTIONS];
    const char *unit; /* of operations */

    /* Decides the extents; returns the bytes that `prepare` allocates. */
    size_t (*shape)(const struct pattern_plan *plan);
    /* Allocates the data; the threads that will use a part touch it first. */
    void (*prepare)(const struct pattern_plan *plan);
    /* Repetition r of plan->repeat; timed. */
    void (*run)(const struct pattern_plan *plan, long r);
    /* In one repetition. */
    double (*operations)(const struct pattern_plan *plan);
    /* Whether all data are what they must be after all repetitions. */
    bool (*check)(const struct pattern_plan *plan);
};

extern const struct pattern pattern;

/* The largest n whose square, or whose cube, is no more than `words`. */
size_t pattern_square_root(size_t words);
size_t pattern_cube_root(size_t words);

#endif
