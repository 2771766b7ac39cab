/* Does a given number of floating-point operations for each access to memory.
 *
 * With few, memory's bandwidth bounds it, which threads share; with many, the
 * arithmetic does, which they do not. Where speedup turns from poor to full is
 * the ridge of the machine's roofline.
 */
#include "pattern.h"

enum { OPERATIONS_PER_ACCESS, LANES = 16 };

static size_t groups;
static double *array;

/* Minus one, but the compiler must not know: it would do the sums itself. */
static volatile double minus_one = -1.0;

static size_t shape(const struct pattern_plan *plan)
{
    groups = plan->bytes / (LANES * sizeof *array);
    return groups * LANES * sizeof *array;
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    array = workload_allocate(groups * LANES * sizeof *array);
#pragma omp parallel for
    for (size_t i = 0; i < groups * LANES; i++)
        array[i] = 0.25;
}

/* Each element is loaded and stored, and in between becomes 1 - x as many times
 * as makes two operations each, a multiplication and an addition, come to the
 * given number for each of the two accesses. LANES chains go side by side, so
 * that none of them waits for itself. */
static void run(const struct pattern_plan *plan, long r)
{
    const double factor = minus_one;
    const long times = plan->value[OPERATIONS_PER_ACCESS];
    (void)r;
#pragma omp parallel for
    for (size_t group = 0; group < groups; group++) {
        double x[LANES];
        for (int lane = 0; lane < LANES; lane++)
            x[lane] = array[group * LANES + (size_t)lane];
        for (long t = 0; t < times; t++)
            for (int lane = 0; lane < LANES; lane++)
                x[lane] = factor * x[lane] + 1.0;
        for (int lane = 0; lane < LANES; lane++)
            array[group * LANES + (size_t)lane] = x[lane];
    }
}

static double operations(const struct pattern_plan *plan)
{
    return 2.0 * (double)plan->value[OPERATIONS_PER_ACCESS] * (double)groups * LANES;
}

/* 1 - (1 - x) is x again, exactly for a quarter. */
static bool check(const struct pattern_plan *plan)
{
    bool odd = plan->value[OPERATIONS_PER_ACCESS] % 2 == 1 && plan->repeat % 2 == 1;
    for (size_t i = 0; i < groups * LANES; i++)
        if (array[i] != (odd ? 0.75 : 0.25))
            return false;
    return true;
}

const struct pattern pattern = {
    .name = "intensity",
    .about = "does a given amount of arithmetic for each access",
    .option = {{.name = "intensity",
                .about = "floating-point operations per access",
                .initial = 4,
                .least = 1,
                .most = 1000000}},
    .unit = "floating-point",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
