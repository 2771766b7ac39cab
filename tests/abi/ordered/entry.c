// The ordered loop entry points by hand, both widths.
#include "check.h"
#include <omp.h>
#include <stdbool.h>

typedef unsigned long long ull;
typedef bool start_fn(long, long, long, long, long *, long *);
typedef bool next_fn(long *, long *);
typedef bool ull_start_fn(bool, ull, ull, ull, ull, ull *, ull *);
typedef bool ull_next_fn(ull *, ull *);
extern start_fn GOMP_loop_ordered_static_start, GOMP_loop_ordered_dynamic_start, GOMP_loop_ordered_guided_start;
extern next_fn GOMP_loop_ordered_static_next, GOMP_loop_ordered_dynamic_next, GOMP_loop_ordered_guided_next;
extern bool GOMP_loop_ordered_runtime_start(long, long, long, long *, long *);
extern next_fn GOMP_loop_ordered_runtime_next;
extern ull_start_fn GOMP_loop_ull_ordered_static_start, GOMP_loop_ull_ordered_dynamic_start,
    GOMP_loop_ull_ordered_guided_start;
extern ull_next_fn GOMP_loop_ull_ordered_static_next, GOMP_loop_ull_ordered_dynamic_next,
    GOMP_loop_ull_ordered_guided_next;
extern bool GOMP_loop_ull_ordered_runtime_start(bool, ull, ull, ull, ull *, ull *);
extern ull_next_fn GOMP_loop_ull_ordered_runtime_next;
extern void GOMP_ordered_start(void);
extern void GOMP_ordered_end(void);
extern void GOMP_loop_end(void);
extern void GOMP_loop_end_nowait(void);

static long expected;

static bool runtime(long a, long b, long c, long chunk, long *s, long *e)
{
    (void)chunk;
    return GOMP_loop_ordered_runtime_start(a, b, c, s, e);
}

static bool ull_runtime(bool up, ull a, ull b, ull c, ull chunk, ull *s, ull *e)
{
    (void)chunk;
    return GOMP_loop_ull_ordered_runtime_start(up, a, b, c, s, e);
}

static void run(start_fn *start, next_fn *next, long from, long to, long step, long chunk)
{
    expected = from;
#pragma omp parallel
    {
        long s, e;
        if (start(from, to, step, chunk, &s, &e))
            do {
                for (long i = s; step > 0 ? i < e : i > e; i += step) {
                    GOMP_ordered_start();
                    CHECK_EQ(i, expected);
                    expected += step;
                    GOMP_ordered_end();
                }
            } while (next(&s, &e));
        GOMP_loop_end();
    }
    CHECK(step > 0 ? expected >= to && expected < to + step : expected <= to && expected > to + step);
}

static void run_ull(ull_start_fn *start, ull_next_fn *next, ull from, ull count, ull chunk)
{
    ull wanted = from;
#pragma omp parallel
    {
        ull s, e;
        if (start(true, from, from + count, 1, chunk, &s, &e))
            do {
                for (ull i = s; i < e; i++) {
                    GOMP_ordered_start();
                    CHECK_EQ(i, wanted);
                    wanted++;
                    GOMP_ordered_end();
                }
            } while (next(&s, &e));
        GOMP_loop_end_nowait();
    }
    CHECK_EQ(wanted - from, count);
}

int main(void)
{
    static const long chunks[] = {1, 2, 11};
    for (size_t c = 0; c < 3; c++) {
        long chunk = chunks[c];
        run(GOMP_loop_ordered_static_start, GOMP_loop_ordered_static_next, 0, 100, 1, chunk);
        run(GOMP_loop_ordered_static_start, GOMP_loop_ordered_static_next, 50, -50, -3, chunk);
        run(GOMP_loop_ordered_dynamic_start, GOMP_loop_ordered_dynamic_next, 0, 100, 7, chunk);
        run(GOMP_loop_ordered_dynamic_start, GOMP_loop_ordered_dynamic_next, 50, -50, -1, chunk);
        run(GOMP_loop_ordered_guided_start, GOMP_loop_ordered_guided_next, -10, 90, 1, chunk);
        run(runtime, GOMP_loop_ordered_runtime_next, 0, 60, 1, chunk);
        run_ull(GOMP_loop_ull_ordered_static_start, GOMP_loop_ull_ordered_static_next, ~0ULL - 90, 80, chunk);
        run_ull(GOMP_loop_ull_ordered_dynamic_start, GOMP_loop_ull_ordered_dynamic_next, 1ULL << 63, 80, chunk);
        run_ull(GOMP_loop_ull_ordered_guided_start, GOMP_loop_ull_ordered_guided_next, 5, 80, chunk);
        run_ull(ull_runtime, GOMP_loop_ull_ordered_runtime_next, 5, 80, chunk);
    }
    run(GOMP_loop_ordered_static_start, GOMP_loop_ordered_static_next, 0, 100, 1, 0);
    printf("ok\n");
    return check_result();
}
