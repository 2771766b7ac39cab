/* Streaming through memory, each thread its own working set. */
#include "access.h"
#include <omp.h>
#include <stdlib.h>

/* What every 64-bit processor loads at once; a cache line is four, so that it
 * does not depend on the compiler whether the loop is unrolled. */
typedef uint64_t vector __attribute__((vector_size(16)));
typedef struct {
    _Alignas(64) vector part[4];
} line;

/* The thread's arrays: up to three, all in its working set. */
struct section {
    _Alignas(128) line *a, *b, *c;
};

static struct section *sections;
static size_t length; /* of each array, in lines */

/* Between two lines, so that no loop is turned into a call of the library's
 * memcpy or memset, which may pass the caches by. */
#define NEXT_LINE __asm__ volatile("")

static const char *provide(size_t arrays)
{
    length = (size_t)value[0] / (arrays * sizeof(line));
    if (length == 0)
        return "a working set has at least one line per array";
    sections = aligned_alloc(_Alignof(struct section), (size_t)threads * sizeof *sections);
    if (!sections)
        return NO_MEMORY;
    int missing = 0;
#pragma omp parallel reduction(+ : missing)
    {
        line *memory = (line *)(void *)ones(arrays * length * sizeof(line) / sizeof(uint64_t));
        struct section *mine = &sections[omp_get_thread_num()];
        missing += !memory;
        if (memory)
            *mine = (struct section){memory, memory + (arrays > 1 ? length : 0),
                                     memory + (arrays > 2 ? 2 * length : 0)};
    }
    return missing ? NO_MEMORY : NULL;
}

static const char *provide_one(void) { return provide(1); }
static const char *provide_two(void) { return provide(2); }
static const char *provide_three(void) { return provide(3); }

/* Runs `pass` over every thread's section, `reps` times; adds up what is wrong. */
static long everywhere(long (*pass)(const struct section *, long rep), long reps)
{
    long wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        struct section mine = sections[omp_get_thread_num()];
        for (long j = 0; j < reps; j++)
            wrong += pass(&mine, j);
    }
    return wrong;
}

static long differ(const vector *found, uint64_t wanted)
{
    return ((*found)[0] != wanted) + ((*found)[1] != wanted);
}

static vector both(uint64_t word)
{
    return (vector){word, word};
}

static long read_pass(const struct section *s, long rep)
{
    (void)rep;
    const line *a = s->a;
    vector sum0 = both(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (size_t i = 0; i < length; i++) {
        sum0 += a[i].part[0];
        sum1 += a[i].part[1];
        sum2 += a[i].part[2];
        sum3 += a[i].part[3];
    }
    vector sum = sum0 + sum1 + sum2 + sum3;
    return differ(&sum, 4 * length);
}

static long write_pass(const struct section *s, long rep)
{
    line *a = s->a;
    vector written = both((uint64_t)rep);
    for (size_t i = 0; i < length; i++) {
        a[i] = (line){{written, written, written, written}};
        NEXT_LINE;
    }
    return differ(&a[length - 1].part[3], (uint64_t)rep);
}

/* a = b */
static long copy_pass(const struct section *s, long rep)
{
    line *a = s->a;
    const line *b = s->b;
    s->b[length - 1].part[3] = both((uint64_t)rep);
    for (size_t i = 0; i < length; i++) {
        a[i] = b[i];
        NEXT_LINE;
    }
    return differ(&a[length - 1].part[3], (uint64_t)rep);
}

/* a = b + 2^n c */
static long triad_pass(const struct section *s, long rep)
{
    line *a = s->a;
    const line *b = s->b, *c = s->c;
    uint64_t n = (uint64_t)rep & 7;
    for (size_t i = 0; i < length; i++) {
        for (int k = 0; k < 4; k++)
            a[i].part[k] = b[i].part[k] + (c[i].part[k] << n);
        NEXT_LINE;
    }
    return differ(&a[length - 1].part[3], 1 + ((uint64_t)1 << n));
}

static long read_all(long reps) { return everywhere(read_pass, reps); }
static long write_all(long reps) { return everywhere(write_pass, reps); }
static long copy_all(long reps) { return everywhere(copy_pass, reps); }
static long triad_all(long reps) { return everywhere(triad_pass, reps); }

/* As the program asks for them: lines fetched only to be overwritten are not
 * counted. */
static double bytes_one(void) { return (double)threads * (double)(length * sizeof(line)); }
static double bytes_two(void) { return 2.0 * bytes_one(); }
static double bytes_three(void) { return 3.0 * bytes_one(); }

static const struct row bandwidth_rows[] = {
    {.name = "READ", .parameters = {&read_set}, .prepare = provide_one, .run = read_all,
     .bytes = bytes_one},
    {.name = "WRITE", .parameters = {&stream_set}, .prepare = provide_one, .run = write_all,
     .bytes = bytes_one},
    {.name = "COPY", .parameters = {&stream_set}, .prepare = provide_two, .run = copy_all,
     .bytes = bytes_two},
    {.name = "TRIAD", .parameters = {&stream_set}, .prepare = provide_three, .run = triad_all,
     .bytes = bytes_three},
    {.name = NULL},
};

ENTER_ROWS("bandwidth", bandwidth_rows);
