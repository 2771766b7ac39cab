/* Updates a matrix by rows, by columns, by tiles, or as one line.
 *
 * By rows, each cache line that is fetched is used whole and at once; by columns,
 * one word of it is used before the next line is fetched, and it may be gone when
 * its next word is wanted. Within a tile the order is by columns too, but the tile
 * is so small that its lines stay. All words as one line, in one loop, are what the
 * orders are compared with.
 */
#include "pattern.h"

enum { ORDER };
enum { ROW, COLUMN, TILE, LINE };
enum { TILE_WORDS = 32 }; /* along one side: 8 KiB in all */

static size_t n;
static uint64_t *matrix;

static size_t shape(const struct pattern_plan *plan)
{
    n = pattern_square_root(plan->bytes / sizeof *matrix);
    return n * n * sizeof *matrix;
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    matrix = workload_allocate(n * n * sizeof *matrix);
#pragma omp parallel for
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            matrix[i * n + j] = i + j;
}

static void update_row(size_t i)
{
    for (size_t j = 0; j < n; j++)
        matrix[i * n + j] += 1;
}

static void update_column(size_t j, size_t top, size_t bottom)
{
    for (size_t i = top; i < bottom; i++)
        matrix[i * n + j] += 1;
}

static void update_tile(size_t top, size_t bottom, size_t left, size_t right)
{
    for (size_t j = left; j < right; j++)
        update_column(j, top, bottom);
}

static size_t end_of_tile(size_t start)
{
    return start + TILE_WORDS < n ? start + TILE_WORDS : n;
}

static void run(const struct pattern_plan *plan, long r)
{
    (void)r;
    switch (plan->value[ORDER]) {
    case ROW:
#pragma omp parallel for
        for (size_t i = 0; i < n; i++)
            update_row(i);
        break;
    case LINE:
#pragma omp parallel for
        for (size_t i = 0; i < n * n; i++)
            matrix[i] += 1;
        break;
    case COLUMN:
#pragma omp parallel for
        for (size_t j = 0; j < n; j++)
            update_column(j, 0, n);
        break;
    default:
#pragma omp parallel for collapse(2)
        for (size_t j = 0; j < n; j += TILE_WORDS)
            for (size_t i = 0; i < n; i += TILE_WORDS)
                update_tile(i, end_of_tile(i), j, end_of_tile(j));
    }
}

/* A load and a store for each. */
static double operations(const struct pattern_plan *plan)
{
    (void)plan;
    return 2.0 * (double)n * (double)n;
}

static bool check(const struct pattern_plan *plan)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (matrix[i * n + j] != i + j + (uint64_t)plan->repeat)
                return false;
    return true;
}

const struct pattern pattern = {
    .name = "order2d",
    .about = "updates a matrix in different orders",
    .option = {{.name = "order",
                .about = "of the accesses",
                .word = {"row", "column", "tile", "line"}}},
    .unit = "accesses",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
