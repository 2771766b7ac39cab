// fathomp: nodes skipped counts with atomic instructions for minutes
// fathomp: variants -O0 -O2
// Every GOMP_loop_*_start/_next with long bounds: each iteration is handed out
// exactly once, up and down, with steps, chunks, empty and single ranges.
#include "calls.h"
#include "check.h"
#include <omp.h>

typedef bool chunked_start(long, long, long, long, long *, long *);
typedef bool plain_start(long, long, long, long *, long *);
typedef bool next_fn(long *, long *);

enum { MOST = 4096 };
static int seen[MOST];

static long count_of(long from, long to, long step)
{
    if (step > 0)
        return from < to ? (to - from + step - 1) / step : 0;
    return from > to ? (from - to - step - 1) / -step : 0;
}

static void run(chunked_start *chunked, plain_start *plain, next_fn *next, long from, long to,
                long step, long chunk, bool wait)
{
    long count = count_of(from, to, step);
#pragma omp parallel
    {
        long s, e;
        bool more = chunked ? chunked(from, to, step, chunk, &s, &e) : plain(from, to, step, &s, &e);
        while (more) {
            CHECK(step > 0 ? s < e : s > e);
            for (long i = s; step > 0 ? i < e : i > e; i += step) {
                long index = (i - from) / step;
                if ((i - from) % step == 0 && index >= 0 && index < count)
                    __atomic_add_fetch(&seen[index], 1, __ATOMIC_RELAXED);
                else
                    CHECK(!"an iteration of the range");
            }
            more = next(&s, &e);
        }
        if (wait) {
            GOMP_loop_end();
            for (long i = 0; i < count; i++)
                CHECK_EQ(__atomic_load_n(&seen[i], __ATOMIC_RELAXED), 1);
        } else {
            GOMP_loop_end_nowait();
        }
    }
    for (long i = 0; i < count; i++) {
        CHECK_EQ(seen[i], 1);
        seen[i] = 0;
    }
}

static const struct {
    long from, to, step;
} ranges[] = {
    {0, 0, 1},      {0, 1, 1},       {5, 5, -1},     {7, 3, 1},        {3, 7, -1},
    {0, 1000, 1},   {0, 1000, 7},    {1000, 0, -1},  {1000, -1000, -3}, {-5, 5, 1},
    {-7, 6, 13},    {0, 4, 1000},    {0, 2, 1},      {0, 3, 1},        {100, 108, 1},
};

static void all_ranges(chunked_start *chunked, plain_start *plain, next_fn *next)
{
    static const long chunks[] = {1, 2, 5, 64, 5000};
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++)
        for (size_t c = 0; c < (chunked ? sizeof chunks / sizeof chunks[0] : 1); c++)
            for (int wait = 0; wait < 2; wait++)
                run(chunked, plain, next, ranges[r].from, ranges[r].to, ranges[r].step, chunks[c], wait);
}

int main(void)
{
    all_ranges(GOMP_loop_static_start, NULL, GOMP_loop_static_next);
    all_ranges(GOMP_loop_dynamic_start, NULL, GOMP_loop_dynamic_next);
    all_ranges(GOMP_loop_guided_start, NULL, GOMP_loop_guided_next);
    all_ranges(GOMP_loop_nonmonotonic_dynamic_start, NULL, GOMP_loop_nonmonotonic_dynamic_next);
    all_ranges(GOMP_loop_nonmonotonic_guided_start, NULL, GOMP_loop_nonmonotonic_guided_next);
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++)
        run(GOMP_loop_static_start, NULL, GOMP_loop_static_next, ranges[r].from, ranges[r].to,
            ranges[r].step, 0, true);
    static const omp_sched_t kinds[] = {
        omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto,
        omp_sched_monotonic | omp_sched_dynamic, omp_sched_monotonic | omp_sched_guided,
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int chunk = 0; chunk < 6; chunk += 5) {
            omp_set_schedule(kinds[k], chunk);
            all_ranges(NULL, GOMP_loop_runtime_start, GOMP_loop_runtime_next);
            all_ranges(NULL, GOMP_loop_nonmonotonic_runtime_start, GOMP_loop_nonmonotonic_runtime_next);
            all_ranges(NULL, GOMP_loop_maybe_nonmonotonic_runtime_start,
                       GOMP_loop_maybe_nonmonotonic_runtime_next);
        }
    printf("ok\n");
    return check_result();
}
