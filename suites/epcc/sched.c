/* Loop schedules: the cost of handing out iterations. */
#include "epcc.h"
#include <stddef.h>

#define SCHEDULE_TEST(function, clause)                      \
    static long function(long reps)                          \
    {                                                        \
        int total = ITERATIONS_PER_THREAD * threads;         \
        _Pragma("omp parallel")                              \
        for (long j = 0; j < reps; j++) {                    \
            _Pragma(clause)                                  \
            for (int i = 0; i < total; i++)                  \
                delay(iteration_length);                     \
        }                                                    \
        return 0;                                            \
    }

SCHEDULE_TEST(static_block, "omp for schedule(static)")
SCHEDULE_TEST(static_1, "omp for schedule(static, 1)")
SCHEDULE_TEST(dynamic_1, "omp for schedule(dynamic, 1)")
SCHEDULE_TEST(dynamic_4, "omp for schedule(dynamic, 4)")
SCHEDULE_TEST(dynamic_16, "omp for schedule(dynamic, 16)")
SCHEDULE_TEST(dynamic_monotonic_1, "omp for schedule(monotonic : dynamic, 1)")
SCHEDULE_TEST(guided_1, "omp for schedule(guided, 1)")
SCHEDULE_TEST(guided_8, "omp for schedule(guided, 8)")

const struct test sched_tests[] = {
    {"STATIC", REFERENCE_ITERATIONS, static_block},
    {"STATIC 1", REFERENCE_ITERATIONS, static_1},
    {"DYNAMIC 1", REFERENCE_ITERATIONS, dynamic_1},
    {"DYNAMIC 4", REFERENCE_ITERATIONS, dynamic_4},
    {"DYNAMIC 16", REFERENCE_ITERATIONS, dynamic_16},
    {"DYNAMIC MONOTONIC 1", REFERENCE_ITERATIONS, dynamic_monotonic_1},
    {"GUIDED 1", REFERENCE_ITERATIONS, guided_1},
    {"GUIDED 8", REFERENCE_ITERATIONS, guided_8},
    {NULL, REFERENCE_DELAY, NULL},
};
