/* Calculates well, then copies poorly.
 *
 * Two regions: the first is arithmetic, which each thread has for itself; the second
 * copies a matrix, as it is or transposed, which more threads hardly do faster.
 * divergence_a has its poor region first: run together, the poor region of either
 * needs few of the processors that the good one of the other gains from.
 */
#include "diverge.h"

static struct diverge_matrix matrix, copy;

static size_t shape(const struct pattern_plan *plan)
{
    matrix.n = copy.n = diverge_side(plan->bytes / 2);
    return 2 * matrix.n * matrix.n * sizeof *matrix.word;
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    size_t bytes = matrix.n * matrix.n * sizeof *matrix.word;
    matrix.word = workload_allocate(bytes);
    copy.word = workload_allocate(bytes);
#pragma omp parallel for
    for (size_t i = 0; i < matrix.n * matrix.n; i++) {
        matrix.word[i] = i;
        copy.word[i] = 1;
    }
}

static void copy_rows(void)
{
    const uint64_t *from = matrix.word;
    uint64_t *to = copy.word;
    size_t n = matrix.n;
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            to[i * n + j] = from[i * n + j];
}

/* The stores go down the columns, the loads along the rows. */
static void copy_transposed(void)
{
    const uint64_t *from = matrix.word;
    uint64_t *to = copy.word;
    size_t n = matrix.n;
#pragma omp parallel for
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            to[i * n + j] = from[j * n + i];
}

static void run(const struct pattern_plan *plan, long r)
{
    (void)r;
    diverge_calculate(&matrix, plan->value[DIVERGE_STEPS]);
    if (plan->value[DIVERGE_ORDER] == DIVERGE_COLUMN)
        copy_transposed();
    else
        copy_rows();
}

static double operations(const struct pattern_plan *plan)
{
    return diverge_operations(&matrix, plan->value[DIVERGE_STEPS]);
}

static bool check(const struct pattern_plan *plan)
{
    bool transposed = plan->value[DIVERGE_ORDER] == DIVERGE_COLUMN;
    uint64_t steps = (uint64_t)plan->repeat * (uint64_t)plan->value[DIVERGE_STEPS];
    for (size_t i = 0; i < matrix.n; i++)
        for (size_t j = 0; j < matrix.n; j++) {
            size_t at = i * matrix.n + j;
            size_t from = transposed ? j * matrix.n + i : at;
            if (matrix.word[at] != diverge_result(&matrix, at, at, steps)
                || copy.word[at] != diverge_result(&matrix, from, from, steps))
                return false;
        }
    return true;
}

const struct pattern pattern = {
    .name = "divergence_b",
    .about = "calculates well, then copies poorly",
    .option = DIVERGE_OPTIONS,
    .unit = "integer",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
