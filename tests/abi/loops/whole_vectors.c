/* schedule(simd: ...), schedules that only LLVM's library has, and what omp_get_schedule says. */
#include "check.h"
#include <omp.h>

enum { MOST = 1031, TRAPEZOIDAL = 101 };

static int seen[MOST];

static void all_once(int count)
{
    for (int i = 0; i < MOST; i++)
        CHECK_EQ(seen[i], i < count);
    memset(seen, 0, sizeof seen);
}

static void guided(int count)
{
#pragma omp parallel for simd schedule(simd : guided, 4)
    for (int i = 0; i < count; i++)
        seen[i]++;
    all_once(count);
}

static void as_set(omp_sched_t kind, int chunk, int count)
{
    omp_set_schedule(kind, chunk);
#pragma omp parallel for simd schedule(simd : runtime)
    for (int i = 0; i < count; i++)
        seen[i]++;
    all_once(count);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < count; i++)
        seen[i]++;
    all_once(count);
    /* Backwards, and with turns. */
    int last = count;
#pragma omp parallel for schedule(runtime) ordered
    for (int i = count - 1; i >= 0; i--) {
        seen[i]++;
#pragma omp ordered
        {
            CHECK_EQ(i, last - 1);
            last = i;
        }
    }
    all_once(count);
}

int main(void)
{
    static const int counts[] = { 0, 1, 2, 7, 8, 27, 100, MOST };
    for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++) {
        guided(counts[c]);
        for (int chunk = 0; chunk <= 8; chunk += 4) {
            as_set(omp_sched_static, chunk, counts[c]);
            as_set(omp_sched_dynamic, chunk, counts[c]);
            as_set(omp_sched_guided, chunk, counts[c]);
            as_set(omp_sched_auto, chunk, counts[c]);
            /* libgomp does not know it, and goes on with what it has. */
            as_set((omp_sched_t)TRAPEZOIDAL, chunk, counts[c]);
        }
    }
    return check_result();
}
