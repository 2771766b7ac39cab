/* Streams through one matrix while it walks down the columns of another.
 *
 * Prefetchers and bandwidth serve the stream, translations and latency bound the
 * columns, and both want the same cache: the mixture need not cost what its parts
 * cost alone. With --column 0 and 100 it is either.
 */
#include "pattern.h"

enum { COLUMN_PERCENT };

static size_t n;
static uint64_t *streamed, *walked;

static size_t shape(const struct pattern_plan *plan)
{
    n = pattern_square_root(plan->bytes / 2 / sizeof *streamed);
    return 2 * n * n * sizeof *streamed;
}

static uint64_t walked_value(size_t i, size_t j)
{
    return 2 * i + 3 * j;
}

/* Whether row i takes what it adds from a column: evenly spread over the rows. */
static bool takes_column(const struct pattern_plan *plan, size_t i)
{
    size_t percent = (size_t)plan->value[COLUMN_PERCENT];
    return i % 100 * percent % 100 < percent;
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    streamed = workload_allocate(n * n * sizeof *streamed);
    walked = workload_allocate(n * n * sizeof *walked);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            streamed[i * n + j] = j;
            walked[i * n + j] = walked_value(i, j);
        }
}

static void run(const struct pattern_plan *plan, long r)
{
    (void)r;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++) {
        uint64_t *row = streamed + i * n;
        if (takes_column(plan, i))
            for (size_t j = 0; j < n; j++)
                row[j] += walked[j * n + i];
        else
            for (size_t j = 0; j < n; j++)
                row[j] += walked[i * n + j];
    }
}

/* Two loads and a store for each. */
static double operations(const struct pattern_plan *plan)
{
    (void)plan;
    return 3.0 * (double)n * (double)n;
}

static bool check(const struct pattern_plan *plan)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            uint64_t added = takes_column(plan, i) ? walked_value(j, i) : walked_value(i, j);
            if (streamed[i * n + j] != j + (uint64_t)plan->repeat * added)
                return false;
        }
    return true;
}

const struct pattern pattern = {
    .name = "stream_column",
    .about = "mixes a stream with walks down columns",
    .option = {{.name = "column",
                .about = "percentage of rows that add a column",
                .initial = 50,
                .least = 0,
                .most = 100}},
    .unit = "accesses",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
