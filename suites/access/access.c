/* Memory for the rows, and the working sets to try. */
#define _GNU_SOURCE
#include "access.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((size_t)2 << 20)

uint64_t *ones(size_t words)
{
    static atomic_size_t asked;
    size_t bytes = words * sizeof(uint64_t);
    size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    /* Too much would be promised now and have processes killed later. */
    if (atomic_fetch_add(&asked, bytes) + bytes > machine / 2)
        return NULL;
    char *memory = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    size_t past = (uintptr_t)memory % HUGE_PAGE;
    memory += past ? HUGE_PAGE - past : 0;
    madvise(memory, bytes, MADV_HUGEPAGE); /* a wish: refusal is no error */
    uint64_t *array = (uint64_t *)(void *)memory;
    for (size_t i = 0; i < words; i++)
        array[i] = 1;
    return array;
}

/* Room for 4 KiB to 64 GiB; zeroes end the lists. */
static long sizes[50], octaves[26], double_octaves[14];

#define SIZES .name = "working_set", .symbol = "b", .unit = "bytes", .values = sizes

const struct parameter working_set = {SIZES, .quick = octaves};
const struct parameter read_set = {SIZES, .quick = double_octaves};
const struct parameter stream_set = {
    SIZES, .quick = (const long[]){16L << 10, 1L << 20, 256L << 20, 0}};

/* The size of the last cache only says how far to go; what the caches hold is
 * for the measurement to show. */
__attribute__((constructor)) static void list_sizes(void)
{
    const long kib = 1024, mib = 1024 * kib;
    long last_cache = 32 * mib;
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (sysconf(_SC_LEVEL3_CACHE_SIZE) > last_cache)
        last_cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    int count = 0;
    for (long size = 4 * kib; size <= 8 * last_cache && 2 * count + 2 < 50; size *= 2, count++) {
        sizes[2 * count] = size;
        sizes[2 * count + 1] = size / 2 * 3;
        octaves[count] = size;
        if (count % 2 == 0)
            double_octaves[count / 2] = size;
    }
}
