/* A program that is parallel half of the time and serial the other half. */
#ifndef FATHOMP_PATTERN_ALTERNATE_H
#define FATHOMP_PATTERN_ALTERNATE_H

#include "pattern.h"

/* The default makes both halves equally long for two threads. */
#define ALTERNATE_OPTION                                                                       \
    {                                                                                          \
        .name = "serial", .about = "work of the serial part, in percent of the parallel one's", \
        .initial = 50, .least = 0, .most = 100                                                 \
    }

size_t alternate_shape(const struct pattern_plan *plan);
void alternate_prepare(const struct pattern_plan *plan);
double alternate_operations(const struct pattern_plan *plan);
bool alternate_check(const struct pattern_plan *plan);

/* The team works on all words. */
void alternate_parallel(void);

/* The initial thread alone works on the first of them: as many as the plan's
 * percentage says. */
void alternate_serial(const struct pattern_plan *plan);

#endif
