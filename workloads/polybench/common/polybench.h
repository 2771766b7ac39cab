/* What every PolyBench kernel is to the rest of the program.
 *
 * A kernel file defines one `polybench_kernel`: what its data are, in terms of
 * parameters that are known when it runs, and what is done to them. Everything
 * else (options, sizes, memory, initial values, time, checksum) follows from
 * that description and is done here, the same way for all.
 *
 * Results do not depend on the number of threads, bit by bit: loops are
 * parallel only over independent iterations, and each sum has one order.
 */
#ifndef FATHOMP_POLYBENCH_H
#define FATHOMP_POLYBENCH_H

#include "options.h"
#include "workload.h"
#include <stdbool.h>
#include <stdint.h>

/* Without -fopenmp compilers do not know `omp`; few know `scop`, which marks
 * the loop nest for polyhedral tools. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

enum {
    POLYBENCH_PARAMETERS = 5,
    POLYBENCH_ARRAYS = 9,
    POLYBENCH_RANK = 3,
};

enum element { DOUBLE, FLOAT, INT };

struct polybench_array {
    int rank;                   /* 0: no such array */
    int extent[POLYBENCH_RANK]; /* which parameter each extent is */
    enum element element;
    bool output; /* enters the checksum */
};

#define VECTOR(n) .rank = 1, .extent = {n}
#define MATRIX(rows, columns) .rank = 2, .extent = {rows, columns}
#define GRID(planes, rows, columns) .rank = 3, .extent = {planes, rows, columns}

struct polybench_kernel {
    const char *name;
    const char *about; /* one line: what it computes */
    const char *parameter[POLYBENCH_PARAMETERS];
    int set[DATA_SETS][POLYBENCH_PARAMETERS];
    struct polybench_array array[POLYBENCH_ARRAYS];
    const char *unit;                               /* of operations */
    double (*operations)(const int *n);             /* of one run */
    void (*prepare)(const int *n, void *const *a);  /* after the fill, or NULL */
    void (*run)(const int *n, void *const *a);
};

/* The one kernel of this program. */
extern const struct polybench_kernel polybench_kernel;

/* Columns that a thread takes at a time where it walks down them together:
 * two cache lines of doubles, so that threads do not share a line. */
enum { COLUMNS = 16 };

static inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

static inline int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Makes the diagonal larger than the sum of its row's and of its column's
 * other elements, of which none is above 1. */
static inline void dominate_diagonal(int n, double A[n][n])
{
    for (int i = 0; i < n; i++)
        A[i][i] += n;
}

#endif
