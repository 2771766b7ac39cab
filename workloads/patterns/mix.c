/* Passes over an array with a given share of writes among its accesses.
 *
 * A written line crosses the bus twice, in and out, and must be taken from all
 * other caches first; a read one crosses once and may be shared. Here blocks of a
 * few lines are either written or read, so that the processor cannot hide one
 * under the other within a line. Which blocks are written changes from one
 * repetition to the next.
 */
#include "pattern.h"

enum { WRITE_PERCENT, BLOCK_WORDS = 64 };

static size_t blocks;
static uint64_t *array, sum;

static size_t shape(const struct pattern_plan *plan)
{
    blocks = plan->bytes / (BLOCK_WORDS * sizeof *array);
    return blocks * BLOCK_WORDS * sizeof *array;
}

/* What a block holds from repetition r on; r = 0: at first. */
static uint64_t value(size_t block, long r)
{
    return block + (uint64_t)r;
}

/* Whether repetition r, counted from 1, writes the block: evenly spread. */
static bool is_written(const struct pattern_plan *plan, size_t block, long r)
{
    size_t percent = (size_t)plan->value[WRITE_PERCENT];
    return (block + (size_t)r) % 100 * percent % 100 < percent;
}

static void write_block(size_t block, long r)
{
    for (size_t i = 0; i < BLOCK_WORDS; i++)
        array[block * BLOCK_WORDS + i] = value(block, r);
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    array = workload_allocate(blocks * BLOCK_WORDS * sizeof *array);
#pragma omp parallel for
    for (size_t block = 0; block < blocks; block++)
        write_block(block, 0);
}

static void run(const struct pattern_plan *plan, long r)
{
    uint64_t read = 0;
#pragma omp parallel for reduction(+ : read)
    for (size_t block = 0; block < blocks; block++) {
        if (is_written(plan, block, r + 1))
            write_block(block, r + 1);
        else
            for (size_t i = 0; i < BLOCK_WORDS; i++)
                read += array[block * BLOCK_WORDS + i];
    }
    sum += read;
}

static double operations(const struct pattern_plan *plan)
{
    (void)plan;
    return (double)blocks * BLOCK_WORDS;
}

/* One word stands for its block, all whose words are equal. */
static bool check(const struct pattern_plan *plan)
{
    uint64_t expected = 0;
    for (size_t block = 0; block < blocks; block++) {
        uint64_t held = value(block, 0);
        for (long r = 1; r <= plan->repeat; r++) {
            if (is_written(plan, block, r))
                held = value(block, r);
            else
                expected += BLOCK_WORDS * held;
        }
        for (size_t i = 0; i < BLOCK_WORDS; i++)
            if (array[block * BLOCK_WORDS + i] != held)
                return false;
    }
    return sum == expected;
}

const struct pattern pattern = {
    .name = "mix",
    .about = "reads some blocks of an array and writes the others",
    .option = {{.name = "writes",
                .about = "percentage of blocks that are written",
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
