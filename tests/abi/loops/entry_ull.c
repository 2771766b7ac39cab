// fathomp: nodes skipped counts with atomic instructions for minutes
// fathomp: variants -O0 -O2
// The same for unsigned long long: the direction is an argument, and ranges
// may lie above LONG_MAX.
#include "calls.h"
#include "check.h"
#include <limits.h>
#include <omp.h>

typedef bool chunked_start(bool, ull, ull, ull, ull, ull *, ull *);
typedef bool plain_start(bool, ull, ull, ull, ull *, ull *);
typedef bool next_fn(ull *, ull *);

enum { MOST = 4096 };
static int seen[MOST];

static void run(chunked_start *chunked, plain_start *plain, next_fn *next, bool up, ull from,
                ull to, ull step, ull chunk)
{
    ull distance = up ? (to > from ? to - from : 0) : (from > to ? from - to : 0);
    ull stride = up ? step : 0 - step;
    ull count = distance / stride + (distance % stride != 0);
#pragma omp parallel
    {
        ull s, e;
        bool more = chunked ? chunked(up, from, to, step, chunk, &s, &e)
                            : plain(up, from, to, step, &s, &e);
        while (more) {
            // The end is exclusive and may have wrapped round; count instead
            // of comparing with it.
            ull width = up ? e - s : s - e;
            ull n = width / stride + (width % stride != 0);
            for (ull k = 0; k < n; k++) {
                ull i = s + k * step;
                ull index = (up ? i - from : from - i) / stride;
                if (index < count)
                    __atomic_add_fetch(&seen[index], 1, __ATOMIC_RELAXED);
                else
                    CHECK(!"an iteration of the range");
            }
            more = next(&s, &e);
        }
        GOMP_loop_end();
    }
    for (ull i = 0; i < count; i++) {
        CHECK_EQ(seen[i], 1);
        seen[i] = 0;
    }
}

static const struct {
    bool up;
    ull from, to, step;
} ranges[] = {
    {true, 0, 0, 1},
    {true, 0, 1, 1},
    {true, 0, 1000, 1},
    {true, 0, 1000, 9},
    {true, 9, 3, 1},
    {false, 1000, 0, -1ULL},
    {false, 1000, 1, -7ULL},
    {false, 3, 9, -1ULL},
    {true, ULLONG_MAX - 2000, ULLONG_MAX - 100, 1},
    {true, (ull)LONG_MAX - 500, (ull)LONG_MAX + 500, 1},
    {true, (ull)LONG_MAX - 500, (ull)LONG_MAX + 500, 11},
    {false, ULLONG_MAX - 100, ULLONG_MAX - 2000, -1ULL},
    {false, (ull)LONG_MAX + 500, (ull)LONG_MAX - 500, -3ULL},
    {true, 5, ULLONG_MAX / 2, ULLONG_MAX / 200},
};

static void all_ranges(chunked_start *chunked, plain_start *plain, next_fn *next)
{
    static const ull chunks[] = {1, 3, 64, 5000};
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++)
        for (size_t c = 0; c < (chunked ? sizeof chunks / sizeof chunks[0] : 1); c++)
            run(chunked, plain, next, ranges[r].up, ranges[r].from, ranges[r].to, ranges[r].step,
                chunks[c]);
}

int main(void)
{
    all_ranges(GOMP_loop_ull_static_start, NULL, GOMP_loop_ull_static_next);
    all_ranges(GOMP_loop_ull_dynamic_start, NULL, GOMP_loop_ull_dynamic_next);
    all_ranges(GOMP_loop_ull_guided_start, NULL, GOMP_loop_ull_guided_next);
    all_ranges(GOMP_loop_ull_nonmonotonic_dynamic_start, NULL, GOMP_loop_ull_nonmonotonic_dynamic_next);
    all_ranges(GOMP_loop_ull_nonmonotonic_guided_start, NULL, GOMP_loop_ull_nonmonotonic_guided_next);
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++)
        run(GOMP_loop_ull_static_start, NULL, GOMP_loop_ull_static_next, ranges[r].up,
            ranges[r].from, ranges[r].to, ranges[r].step, 0);
    for (omp_sched_t kind = omp_sched_static; kind <= omp_sched_auto; kind++) {
        omp_set_schedule(kind, 4);
        all_ranges(NULL, GOMP_loop_ull_runtime_start, GOMP_loop_ull_runtime_next);
        all_ranges(NULL, GOMP_loop_ull_nonmonotonic_runtime_start, GOMP_loop_ull_nonmonotonic_runtime_next);
        all_ranges(NULL, GOMP_loop_ull_maybe_nonmonotonic_runtime_start,
                   GOMP_loop_ull_maybe_nonmonotonic_runtime_next);
    }
    printf("ok\n");
    return check_result();
}
