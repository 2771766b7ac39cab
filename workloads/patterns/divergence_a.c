/* Initialises poorly, then calculates well.
 *
 * Two regions: the first stores a matrix, along its rows or down its columns, which
 * more threads hardly do faster; the second is arithmetic, which each thread has for
 * itself. divergence_b has them the other way round: run together, the poor region of
 * either needs few of the processors that the good one of the other gains from.
 */
#include "diverge.h"

static struct diverge_matrix matrix;

static size_t shape(const struct pattern_plan *plan)
{
    matrix.n = diverge_side(plan->bytes);
    return matrix.n * matrix.n * sizeof *matrix.word;
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    matrix.word = workload_allocate(matrix.n * matrix.n * sizeof *matrix.word);
#pragma omp parallel for
    for (size_t i = 0; i < matrix.n * matrix.n; i++)
        matrix.word[i] = 1;
}

static uint64_t initial(size_t i, size_t j, long r)
{
    return i + 2 * j + (uint64_t)r;
}

static void initialise_rows(long r)
{
    uint64_t *word = matrix.word;
    size_t n = matrix.n;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            word[i * n + j] = initial(i, j, r);
}

static void initialise_columns(long r)
{
    uint64_t *word = matrix.word;
    size_t n = matrix.n;
#pragma omp parallel for
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            word[i * n + j] = initial(i, j, r);
}

static void run(const struct pattern_plan *plan, long r)
{
    if (plan->value[DIVERGE_ORDER] == DIVERGE_COLUMN)
        initialise_columns(r);
    else
        initialise_rows(r);
    diverge_calculate(&matrix, plan->value[DIVERGE_STEPS]);
}

static double operations(const struct pattern_plan *plan)
{
    return diverge_operations(&matrix, plan->value[DIVERGE_STEPS]);
}

static bool check(const struct pattern_plan *plan)
{
    uint64_t steps = (uint64_t)plan->value[DIVERGE_STEPS];
    for (size_t i = 0; i < matrix.n; i++)
        for (size_t j = 0; j < matrix.n; j++) {
            size_t at = i * matrix.n + j;
            uint64_t first = initial(i, j, plan->repeat - 1);
            if (matrix.word[at] != diverge_result(&matrix, at, first, steps))
                return false;
        }
    return true;
}

const struct pattern pattern = {
    .name = "divergence_a",
    .about = "initialises poorly, then calculates well",
    .option = DIVERGE_OPTIONS,
    .unit = "integer",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
