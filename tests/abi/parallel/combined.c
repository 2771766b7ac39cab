// GOMP_parallel_loop_* and GOMP_parallel_sections called as gcc calls them,
// and the ones that gcc 12 no longer emits.
#include "check.h"
#include <omp.h>
#include <stdbool.h>

typedef void fn(void *);
extern void GOMP_parallel_loop_static(fn *, void *, unsigned, long, long, long, long, unsigned);
extern void GOMP_parallel_loop_dynamic(fn *, void *, unsigned, long, long, long, long, unsigned);
extern void GOMP_parallel_loop_guided(fn *, void *, unsigned, long, long, long, long, unsigned);
extern void GOMP_parallel_loop_runtime(fn *, void *, unsigned, long, long, long, unsigned);
extern void GOMP_parallel_loop_nonmonotonic_dynamic(fn *, void *, unsigned, long, long, long, long, unsigned);
extern void GOMP_parallel_loop_nonmonotonic_guided(fn *, void *, unsigned, long, long, long, long, unsigned);
extern void GOMP_parallel_loop_nonmonotonic_runtime(fn *, void *, unsigned, long, long, long, unsigned);
extern void GOMP_parallel_loop_maybe_nonmonotonic_runtime(fn *, void *, unsigned, long, long, long, unsigned);
extern void GOMP_parallel_sections(fn *, void *, unsigned, unsigned, unsigned);
extern bool GOMP_loop_static_next(long *, long *);
extern bool GOMP_loop_dynamic_next(long *, long *);
extern bool GOMP_loop_guided_next(long *, long *);
extern bool GOMP_loop_runtime_next(long *, long *);
extern bool GOMP_loop_nonmonotonic_dynamic_next(long *, long *);
extern bool GOMP_loop_nonmonotonic_guided_next(long *, long *);
extern bool GOMP_loop_nonmonotonic_runtime_next(long *, long *);
extern bool GOMP_loop_maybe_nonmonotonic_runtime_next(long *, long *);
extern void GOMP_loop_end_nowait(void);
extern unsigned GOMP_sections_next(void);
extern void GOMP_sections_end_nowait(void);

enum { FROM = -500, TO = 501, STEP = 4, COUNT = (TO - FROM + STEP - 1) / STEP };

static int seen[COUNT];
typedef bool next_fn(long *, long *);

static void body(void *data)
{
    next_fn *next = *(next_fn **)data;
    long from, to;
    while (next(&from, &to))
        for (long i = from; i < to; i += STEP) {
            CHECK_EQ((i - FROM) % STEP, 0);
            __atomic_add_fetch(&seen[(i - FROM) / STEP], 1, __ATOMIC_RELAXED);
        }
    GOMP_loop_end_nowait();
}

static void section_body(void *data)
{
    unsigned s;
    (void)data;
    while ((s = GOMP_sections_next()) != 0)
        __atomic_add_fetch(&seen[s], 1, __ATOMIC_RELAXED);
    GOMP_sections_end_nowait();
}

static void once(int from, int count)
{
    for (int i = from; i < from + count; i++) {
        CHECK_EQ(seen[i], 1);
        seen[i] = 0;
    }
}

#define CHUNKED(kind, next_name, chunk)                                                   \
    do {                                                                                  \
        next_fn *next = next_name;                                                        \
        GOMP_parallel_loop_##kind(body, &next, threads, FROM, TO, STEP, chunk, 0);        \
        once(0, COUNT);                                                                   \
    } while (0)
#define PLAIN(kind, next_name)                                                            \
    do {                                                                                  \
        next_fn *next = next_name;                                                        \
        GOMP_parallel_loop_##kind(body, &next, threads, FROM, TO, STEP, 0);               \
        once(0, COUNT);                                                                   \
    } while (0)

int main(void)
{
    for (unsigned threads = 0; threads <= 5; threads++) {
        CHUNKED(static, GOMP_loop_static_next, 0);
        CHUNKED(static, GOMP_loop_static_next, 13);
        CHUNKED(dynamic, GOMP_loop_dynamic_next, 1);
        CHUNKED(dynamic, GOMP_loop_dynamic_next, 1000);
        CHUNKED(guided, GOMP_loop_guided_next, 3);
        CHUNKED(nonmonotonic_dynamic, GOMP_loop_nonmonotonic_dynamic_next, 5);
        CHUNKED(nonmonotonic_guided, GOMP_loop_nonmonotonic_guided_next, 1);
        for (omp_sched_t kind = omp_sched_static; kind <= omp_sched_auto; kind++) {
            omp_set_schedule(kind, 6);
            PLAIN(runtime, GOMP_loop_runtime_next);
            PLAIN(nonmonotonic_runtime, GOMP_loop_nonmonotonic_runtime_next);
            PLAIN(maybe_nonmonotonic_runtime, GOMP_loop_maybe_nonmonotonic_runtime_next);
        }
        GOMP_parallel_sections(section_body, NULL, threads, 20, 0);
        once(1, 20);
        CHECK_EQ(seen[0], 0);
        GOMP_parallel_sections(section_body, NULL, threads, 0, 0);
    }
    printf("ok\n");
    return check_result();
}
