/* What it costs to keep an array consistent that its threads keep changing.
 *
 * A pass over the array: a change phase, a barrier, a read phase in which each
 * thread reads what its neighbour has just changed, a barrier. The next pass
 * changes the chunks just read. The same is done on arrays that no other
 * thread ever touches; the difference is what sharing costs. Described in
 * H. J. Wong, J. Cai, A. P. Rendell, P. Strazdins, "Micro-benchmarks for
 * Cluster OpenMP Implementations: Memory Consistency Costs", IWOMP 2008.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Arrays begin at multiples of this, the shared one and the private ones, so
 * that all get huge pages or none. */
#define ALIGNMENT ((size_t)2 << 20)

static uint32_t *shared;
static uint32_t **private; /* by thread */
static size_t words;       /* in an array */
static size_t chunk_words; /* in a chunk */
static size_t chunks;      /* in an array; the last may be shorter */
static uint32_t passes;    /* over the shared array: every word's value */

static size_t end_of(size_t chunk)
{
    return chunk + 1 < chunks ? (chunk + 1) * chunk_words : words;
}

/* A share is chunks `first`, `first` + `team`, `first` + 2 `team`, ... */
__attribute__((noinline)) static void change(uint32_t *array, size_t first, size_t team)
{
    for (size_t c = first; c < chunks; c += team)
        for (size_t i = c * chunk_words, end = end_of(c); i < end; i++)
            array[i] += 1;
}

__attribute__((noinline)) static uint32_t read_all(const uint32_t *array, size_t first, size_t team)
{
    uint32_t sum = 0;
    for (size_t c = first; c < chunks; c += team)
        for (size_t i = c * chunk_words, end = end_of(c); i < end; i++)
            sum += array[i];
    return sum;
}

static size_t words_in(size_t first, size_t team)
{
    if (first >= chunks)
        return 0;
    size_t count = (chunks - first - 1) / team; /* chunks before the share's last */
    size_t last = first + count * team;
    return count * chunk_words + end_of(last) - last * chunk_words;
}

/* One thread's part of a pass. Returns the sum of what it read. */
static uint32_t pass(uint32_t *array, size_t mine, size_t next, size_t team)
{
    change(array, mine, team);
#pragma omp barrier
    uint32_t sum = read_all(array, next, team);
#pragma omp barrier
    return sum;
}

static long pass_shared(long reps)
{
    long wrong = 0;
    uint32_t before = passes;
#pragma omp parallel reduction(+ : wrong)
    {
        size_t team = (size_t)threads, me = (size_t)omp_get_thread_num();
        for (uint32_t p = before + 1; p != before + 1 + (uint32_t)reps; p++) {
            size_t mine = (me + p) % team, next = (me + p + 1) % team;
            uint32_t sum = pass(shared, mine, next, team);
            wrong += sum != p * (uint32_t)words_in(next, team);
        }
    }
    passes += (uint32_t)reps;
    return wrong;
}

/* The same accesses in the same order, each thread in its own array. */
static void pass_private(long reps)
{
#pragma omp parallel
    {
        size_t team = (size_t)threads, me = (size_t)omp_get_thread_num();
        uint32_t *array = private[me];
        for (uint32_t p = 1; p <= (uint32_t)reps; p++) {
            size_t mine = (me + p) % team, next = (me + p + 1) % team;
            uint32_t sum = pass(array, mine, next, team);
            __asm__ volatile("" ::"r"(sum));
        }
    }
}

/* Memory that no other thread can want: not from the heap, which a runtime may
 * keep consistent. NULL if there is none. */
static uint32_t *own_memory(size_t bytes)
{
    char *memory = mmap(NULL, bytes + ALIGNMENT, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    size_t past = (uintptr_t)memory % ALIGNMENT;
    memory += past ? ALIGNMENT - past : 0;
    return memset(memory, 0, bytes);
}

/* Arrays of `bytes`, once per process. */
static const char *provide(size_t chunk, size_t bytes)
{
    if (bytes % sizeof *shared || chunk % sizeof *shared)
        return "arrays and chunks are multiples of 4 bytes";
    words = bytes / sizeof *shared;
    chunk_words = chunk / sizeof *shared;
    chunks = (words + chunk_words - 1) / chunk_words;
    passes = 0;
    shared = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    private = calloc((size_t)threads, sizeof *private);
    if (!shared || !private)
        return "there is not enough memory";
    int missing = 0;
#pragma omp parallel reduction(+ : missing)
    {
        uint32_t *mine = own_memory(bytes);
        private[omp_get_thread_num()] = mine;
        missing += !mine;
#pragma omp for
        for (size_t i = 0; i < words; i++)
            shared[i] = 0;
    }
    return missing ? "there is not enough memory" : NULL;
}

static const char *deal_round_robin(void)
{
    return provide((size_t)value[0], (size_t)value[1]);
}

/* One chunk for each thread. */
static const char *deal_blocks(void)
{
    size_t share = ((size_t)value[0] + (size_t)threads - 1) / (size_t)threads;
    return provide((share + sizeof *shared - 1) / sizeof *shared * sizeof *shared,
                   (size_t)value[0]);
}

static double bytes(void) { return (double)(words * sizeof *shared); }
static double accesses(void) { return 2.0 * (double)words; }

#define MIB (1L << 20)

static const struct parameter chunk_bytes = {
    .name = "chunk",
    .symbol = "c",
    .unit = "bytes",
    .values = (const long[]){4, 16, 32, 64, 128, 512, 2048, 4096, 8192, 0},
    .quick = (const long[]){4, 16, 32, 64, 4096, 0},
};

static const struct parameter array_bytes = {
    .name = "array",
    .symbol = "a",
    .unit = "bytes",
    .values = (const long[]){MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB, 0},
    .quick = (const long[]){MIB, 4 * MIB, 0},
};

static const struct row mcbench_rows[] = {
    {.name = "ROUND ROBIN", .parameters = {&chunk_bytes, &array_bytes},
     .prepare = deal_round_robin, .reference = pass_private, .run = pass_shared,
     .bytes = bytes, .accesses = accesses},
    {.name = "BLOCKED", .parameters = {&array_bytes}, .prepare = deal_blocks,
     .reference = pass_private, .run = pass_shared, .bytes = bytes, .accesses = accesses},
    {.name = NULL},
};

ENTER_ROWS("consistency", mcbench_rows);
