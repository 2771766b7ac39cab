/* Pages of words, and how they are read and written where that is timed. */
#ifndef FATHOMP_PAGES_H
#define FATHOMP_PAGES_H

#include "clock.h"
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES 4096
#define PAGE_WORDS (PAGE_BYTES / sizeof(uint64_t))

/* Changes every other word, so that what changed of a page is half of it. */
static inline void write_half(volatile uint64_t *array, size_t words, uint64_t value)
{
    for (size_t i = 0; i < words; i += 2)
        array[i] = value;
}

static inline uint64_t read_all(const volatile uint64_t *array, size_t words)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i++)
        sum += array[i];
    return sum;
}

static inline double time_write(volatile uint64_t *array, size_t words, uint64_t value)
{
    double start = wall_ns();
    write_half(array, words, value);
    return wall_ns() - start;
}

static inline double time_read(const volatile uint64_t *array, size_t words, uint64_t *sum)
{
    double start = wall_ns();
    *sum = read_all(array, words);
    return wall_ns() - start;
}

#endif
