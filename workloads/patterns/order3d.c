/* Updates a cube with its three loops in any order.
 *
 * Words that differ in k alone are neighbours, those that differ in i alone are a
 * whole plane apart. The order of the loops decides the stride of the innermost,
 * and which dimension is split among the threads: with k outermost, they share
 * cache lines all the time. All words as one line, in one loop, are what the orders
 * are compared with.
 */
#include "pattern.h"

enum { ORDER };
enum { LINE = 6 };

static size_t n;
static uint64_t *cube;

static size_t shape(const struct pattern_plan *plan)
{
    n = pattern_cube_root(plan->bytes / sizeof *cube);
    return n * n * n * sizeof *cube;
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    cube = workload_allocate(n * n * n * sizeof *cube);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        for (size_t jk = 0; jk < n * n; jk++)
            cube[i * n * n + jk] = i + jk;
}

static void run_line(void)
{
#pragma omp parallel for
    for (size_t i = 0; i < n * n * n; i++)
        cube[i] += 1;
}

static void run_order(long order)
{
    /* Strides of the outermost, the middle, the innermost loop. */
    const size_t i = n * n, j = n, k = 1;
    const size_t strides[][3] = {{i, j, k}, {i, k, j}, {j, i, k}, {j, k, i}, {k, i, j}, {k, j, i}};
    const size_t *stride = strides[order];
#pragma omp parallel for
    for (size_t outer = 0; outer < n; outer++)
        for (size_t middle = 0; middle < n; middle++) {
            uint64_t *line = cube + outer * stride[0] + middle * stride[1];
            size_t step = stride[2];
            for (size_t inner = 0; inner < n; inner++)
                line[inner * step] += 1;
        }
}

static void run(const struct pattern_plan *plan, long r)
{
    (void)r;
    if (plan->value[ORDER] == LINE)
        run_line();
    else
        run_order(plan->value[ORDER]);
}

/* A load and a store for each. */
static double operations(const struct pattern_plan *plan)
{
    (void)plan;
    return 2.0 * (double)n * (double)n * (double)n;
}

static bool check(const struct pattern_plan *plan)
{
    for (size_t i = 0; i < n; i++)
        for (size_t jk = 0; jk < n * n; jk++)
            if (cube[i * n * n + jk] != i + jk + (uint64_t)plan->repeat)
                return false;
    return true;
}

const struct pattern pattern = {
    .name = "order3d",
    .about = "updates a cube in different orders",
    .option = {{.name = "order",
                .about = "of the loops, outermost first, or one loop",
                .word = {"ijk", "ikj", "jik", "jki", "kij", "kji", "line"}}},
    .unit = "accesses",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
