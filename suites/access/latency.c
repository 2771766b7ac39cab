/* Time of a load that must wait for the one before, by working set. */
#include "access.h"
#include <stdlib.h>

/* Each line of the working set points to another, in one random cycle that
 * passes through all: no prefetcher can know the next. */
#define LINE_WORDS 8
#define LOADS 4096 /* in a repetition: the walk goes on where the last one ended */

static uint64_t *position;
static size_t lines;

/* A reproducible sequence (SplitMix64). */
static uint64_t random_state;

static size_t random_below(size_t bound)
{
    uint64_t z = (random_state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (size_t)(((z ^ (z >> 31)) >> 32) * (uint64_t)bound >> 32);
}

static const char *link_lines(void)
{
    lines = (size_t)value[0] / (LINE_WORDS * sizeof(uint64_t));
    if (lines < 2 || lines > UINT32_MAX)
        return "a working set is at least 128 bytes and at most 256 GiB";
    uint64_t *set = ones(lines * LINE_WORDS);
    uint32_t *order = malloc(lines * sizeof *order);
    if (!set || !order)
        return NO_MEMORY;
    for (size_t i = 0; i < lines; i++)
        order[i] = (uint32_t)i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t k = random_below(i + 1);
        uint32_t swapped = order[i];
        order[i] = order[k];
        order[k] = swapped;
    }
    /* In the order of the walk, so that the caches hold what a walk leaves. */
    for (size_t i = 0; i < lines; i++)
        set[(size_t)order[i] * LINE_WORDS] =
            (uint64_t)(uintptr_t)(set + (size_t)order[i + 1 < lines ? i + 1 : 0] * LINE_WORDS);
    position = set + (size_t)order[0] * LINE_WORDS;
    free(order);
    return NULL;
}

static uint64_t *walk(uint64_t *from, size_t loads)
{
    for (size_t i = 0; i < loads; i++)
        from = (uint64_t *)(uintptr_t)*from;
    return from;
}

static long chase(long reps)
{
    position = walk(position, (size_t)reps * LOADS);
    __asm__ volatile("" ::"r"(position));
    return 0;
}

/* The first return to the start is after all lines. */
static long is_one_cycle(void)
{
    if (lines > (1u << 16)) /* the same code links smaller sets */
        return 0;
    uint64_t *at = position;
    for (size_t i = 1; i < lines; i++) {
        at = walk(at, 1);
        if (at == position)
            return 1;
    }
    return walk(at, 1) != position;
}

static double set_bytes(void) { return (double)value[0]; }
static double loads(void) { return LOADS; }

static const struct row latency_rows[] = {
    {.name = "CHASE", .parameters = {&working_set}, .prepare = link_lines, .run = chase,
     .check = is_one_cycle, .bytes = set_bytes, .accesses = loads},
    {.name = NULL},
};

ENTER_ROWS("latency", latency_rows);
