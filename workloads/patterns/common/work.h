/* Work that costs time but no memory: a chain of multiplications and additions,
 * x -> a x + c modulo 2^64, where each waits for the one before. How a chain
 * ends can be told without doing it, which is how the results are checked. */
#ifndef FATHOMP_PATTERN_WORK_H
#define FATHOMP_PATTERN_WORK_H

#include <stddef.h>
#include <stdint.h>

struct work {
    uint64_t factor, addend;
};

/* One step: the constants are D. Knuth's (MMIX). */
#define WORK_STEP ((struct work){UINT64_C(6364136223846793005), UINT64_C(1442695040888963407)})

/* All words do `steps` steps. */
void work_do(uint64_t *words, size_t count, long steps);

/* The same in one: x -> factor x + addend for `steps` steps. */
struct work work_of(uint64_t steps);

#endif
