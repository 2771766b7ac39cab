/* A program of two regions, of which one gains from threads and the other does not. */
#ifndef FATHOMP_PATTERN_DIVERGE_H
#define FATHOMP_PATTERN_DIVERGE_H

#include "pattern.h"

enum { DIVERGE_ORDER, DIVERGE_STEPS };
enum { DIVERGE_ROW, DIVERGE_COLUMN };

/* With the default order and steps, both regions take about as long on one thread. */
#define DIVERGE_OPTIONS                                                                \
    {                                                                                  \
        {.name = "order",                                                              \
         .about = "of the poor region's stores: bandwidth or latency",                 \
         .word = {"row", "column"}},                                                   \
        {.name = "steps",                                                              \
         .about = "calculations for each word of the good region",                     \
         .initial = 100,                                                               \
         .least = 1,                                                                   \
         .most = 1000000},                                                             \
    }

struct diverge_matrix {
    size_t n; /* rows and columns */
    uint64_t *word;
};

/* That of the largest square matrix in so many bytes. */
size_t diverge_side(size_t bytes);

/* Good: a few words of each block do `steps` steps. Their lines are fetched
 * once, everything else is arithmetic. */
void diverge_calculate(const struct diverge_matrix *matrix, long steps);

/* Multiplications and additions of that, both counted. */
double diverge_operations(const struct diverge_matrix *matrix, long steps);

/* What the word at index `at`, once `value`, is after so many steps of calculation. */
uint64_t diverge_result(const struct diverge_matrix *matrix, size_t at, uint64_t value,
                        uint64_t steps);

#endif
