/* Gives iterations uneven amounts of work, under different schedules.
 *
 * A static schedule is the cheapest and lets threads wait for the one with the
 * heaviest iterations; the others hand out work while it is being done, for a
 * price. The work is arithmetic, so that nothing but its distribution matters.
 */
#include "pattern.h"
#include "work.h"
#ifdef _OPENMP
#include <omp.h>
#endif

enum { SHAPE, SCHEDULE };
enum { TRIANGLE, HEAVY, RANDOM };
enum { WORK_STEPS = 32, HEAVY_PART = 8 };

static size_t n;
static uint64_t *matrix;

static size_t shape(const struct pattern_plan *plan)
{
    n = pattern_square_root(plan->bytes / sizeof *matrix);
    return n * n * sizeof *matrix;
}

/* How many words of row i are worked on. */
static size_t row_length(const struct pattern_plan *plan, size_t i)
{
    switch (plan->value[SHAPE]) {
    case TRIANGLE:
        return i + 1;
    case HEAVY: /* an eighth of the rows, all of the first threads', has half of the work */
        return i < n / HEAVY_PART ? n : n / (HEAVY_PART - 1);
    default: {
        /* Any scrambling will do that is the same in every run. */
        struct work scramble = work_of(i + 1);
        return (size_t)(scramble.addend >> 32) % n + 1;
    }
    }
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    matrix = workload_allocate(n * n * sizeof *matrix);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            matrix[i * n + j] = i + j;
#ifdef _OPENMP
    static const struct {
        omp_sched_t kind;
        int chunk; /* 0: the runtime's default */
    } schedules[] = {{omp_sched_static, 0},  {omp_sched_static, 1}, {omp_sched_dynamic, 1},
                     {omp_sched_dynamic, 8}, {omp_sched_guided, 1}, {omp_sched_auto, 0}};
    omp_set_schedule(schedules[plan->value[SCHEDULE]].kind, schedules[plan->value[SCHEDULE]].chunk);
#endif
}

static void run(const struct pattern_plan *plan, long r)
{
    (void)r;
#pragma omp parallel for schedule(runtime)
    for (size_t i = 0; i < n; i++)
        work_do(matrix + i * n, row_length(plan, i), WORK_STEPS);
}

/* A multiplication and an addition in each step. */
static double operations(const struct pattern_plan *plan)
{
    double words = 0.0;
    for (size_t i = 0; i < n; i++)
        words += (double)row_length(plan, i);
    return 2.0 * WORK_STEPS * words;
}

static bool check(const struct pattern_plan *plan)
{
    struct work done = work_of((uint64_t)plan->repeat * WORK_STEPS);
    for (size_t i = 0; i < n; i++) {
        size_t length = row_length(plan, i);
        for (size_t j = 0; j < n; j++) {
            uint64_t before = i + j;
            uint64_t after = j < length ? done.factor * before + done.addend : before;
            if (matrix[i * n + j] != after)
                return false;
        }
    }
    return true;
}

const struct pattern pattern = {
    .name = "imbalance",
    .about = "gives iterations uneven amounts of work",
    .option = {{.name = "shape",
                .about = "of the work over the iterations",
                .word = {"triangle", "heavy", "random"}},
               {.name = "schedule",
                .about = "of the loop",
                .word = {"static", "static1", "dynamic", "dynamic8", "guided", "auto"}}},
    .unit = "integer",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
