/* Loop schedules: the cost of handing out iterations. */
#include "epcc.h"

#ifdef __clang__
/* clang compares taskloop's own unsigned variables with the program's. */
#pragma clang diagnostic ignored "-Wsign-compare"
#endif

#define SCHEDULE_ROW(function, clause)                             \
    static long function(long reps)                                \
    {                                                              \
        long before = delays();                                    \
        int total = ITERATIONS_PER_THREAD * threads;               \
        int size = (int)value[0];                                  \
        (void)size; /* STATIC has no chunk */                      \
        _Pragma("omp parallel")                                    \
        for (long j = 0; j < reps; j++) {                          \
            _Pragma(clause)                                        \
            for (int i = 0; i < total; i++)                        \
                delay(iteration_length);                           \
        }                                                          \
        return delays() - before != reps * total;                  \
    }

SCHEDULE_ROW(static_block, "omp for schedule(static)")
SCHEDULE_ROW(static_monotonic, "omp for schedule(monotonic : static)")
SCHEDULE_ROW(static_chunk, "omp for schedule(static, size)")
SCHEDULE_ROW(static_chunk_monotonic, "omp for schedule(monotonic : static, size)")
SCHEDULE_ROW(dynamic_chunk, "omp for schedule(dynamic, size)")
SCHEDULE_ROW(dynamic_monotonic, "omp for schedule(monotonic : dynamic, size)")
SCHEDULE_ROW(dynamic_nonmonotonic, "omp for schedule(nonmonotonic : dynamic, size)")
SCHEDULE_ROW(guided_chunk, "omp for schedule(guided, size)")
SCHEDULE_ROW(guided_monotonic, "omp for schedule(monotonic : guided, size)")
SCHEDULE_ROW(guided_nonmonotonic, "omp for schedule(nonmonotonic : guided, size)")

/* One thread makes the tasks, the others help at the barrier. */
static long taskloop(long reps)
{
    long before = delays();
    int total = ITERATIONS_PER_THREAD * threads;
    int size = (int)value[0];
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp single
        {
#pragma omp taskloop grainsize(size)
            for (int i = 0; i < total; i++)
                delay(iteration_length);
        }
    }
    return delays() - before != reps * total;
}

#define CHUNKED(row_name, size, function) \
    {.name = row_name, .parameters = {&size}, .reference = reference_iterations, .run = function}

static const struct row sched_rows[] = {
    {.name = "STATIC", .reference = reference_iterations, .run = static_block},
    CHUNKED("STATIC", chunk, static_chunk),
    {.name = "STATIC MONOTONIC", .reference = reference_iterations, .run = static_monotonic},
    CHUNKED("STATIC MONOTONIC", variant_chunk, static_chunk_monotonic),
    CHUNKED("DYNAMIC", chunk, dynamic_chunk),
    CHUNKED("DYNAMIC MONOTONIC", variant_chunk, dynamic_monotonic),
    CHUNKED("DYNAMIC NONMONOTONIC", variant_chunk, dynamic_nonmonotonic),
    CHUNKED("GUIDED", chunk, guided_chunk),
    CHUNKED("GUIDED MONOTONIC", variant_chunk, guided_monotonic),
    CHUNKED("GUIDED NONMONOTONIC", variant_chunk, guided_nonmonotonic),
    CHUNKED("TASKLOOP", chunk, taskloop),
    {.name = NULL},
};

ENTER_ROWS("sched", sched_rows);
