/* Taking samples of a row. */
#ifndef FATHOMP_SAMPLE_H
#define FATHOMP_SAMPLE_H

#include "bench.h"

#define MAX_SAMPLES 1000

struct plan {
    double target_ns; /* time that a sample should fill */
    double limit_ns;  /* no further sample after this time */
    long samples;
};

/* One kind of samples; all times and counts are per repetition. */
struct samples {
    long reps;
    long count;
    double wall_ns[MAX_SAMPLES];
    double cpu_ns[MAX_SAMPLES];      /* of the initial thread */
    double team_cpu_ns[MAX_SAMPLES]; /* of the process */
    double misses[MAX_SAMPLES];
};

/* Samples of the row's reference, if it has one, and of its construct.
 * Returns the number of wrong results. */
long take_samples(const struct row *row, struct plan plan, struct samples *reference,
                  struct samples *construct);

#endif
