// fathomp: clang 14 does not know the modifier strict
// fathomp: variants -O0 -O2
// taskloop with both widths, grainsize, num_tasks, strict, collapse,
// nogroup, reductions, lastprivate and downward loops.
#include "check.h"
#include <omp.h>

enum { N = 500 };
static int seen[N];

static void once(void)
{
    for (int i = 0; i < N; i++) {
        CHECK_EQ(seen[i], 1);
        seen[i] = 0;
    }
}

#define TASKLOOP(clause, type)                                              \
    do {                                                                    \
        _Pragma("omp parallel")                                             \
        _Pragma("omp single")                                               \
        {                                                                   \
            _Pragma(clause)                                                 \
            for (type i = 0; i < N; i++)                                    \
                __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);          \
        }                                                                   \
        once();                                                             \
    } while (0)

int main(void)
{
    TASKLOOP("omp taskloop", int);
    TASKLOOP("omp taskloop grainsize(1)", long);
    TASKLOOP("omp taskloop grainsize(7)", int);
    TASKLOOP("omp taskloop grainsize(1000)", int);
    TASKLOOP("omp taskloop grainsize(strict : 9)", int);
    TASKLOOP("omp taskloop num_tasks(3)", int);
    TASKLOOP("omp taskloop num_tasks(strict : 11)", int);
    TASKLOOP("omp taskloop num_tasks(10000)", int);
    TASKLOOP("omp taskloop nogroup", int);
    TASKLOOP("omp taskloop if(0)", int);
    TASKLOOP("omp taskloop final(1)", int);
    TASKLOOP("omp taskloop untied mergeable priority(3)", int);
    TASKLOOP("omp taskloop", unsigned long long);
    TASKLOOP("omp taskloop grainsize(13)", unsigned long long);
    TASKLOOP("omp taskloop num_tasks(4)", unsigned long long);
    TASKLOOP("omp taskloop simd grainsize(5)", int);

    int last = -1, given = 6;
    long sum = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop lastprivate(last) firstprivate(given) reduction(+ : sum) grainsize(3)
        for (int i = N; i > 0; i -= 3) {
            CHECK_EQ(given, 6);
            last = i;
            sum += i;
        }
        CHECK_EQ(last, 2);
    }
    long want = 0;
    for (int i = N; i > 0; i -= 3)
        want += i;
    CHECK_EQ(sum, want);

    sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop collapse(2) reduction(+ : sum) num_tasks(6)
    for (unsigned long long i = 0; i < 20; i++)
        for (unsigned long long j = ~0ULL; j > ~0ULL - 20; j--)
            sum++;
    CHECK_EQ(sum, 400);

    // Empty ranges make no task.
#pragma omp parallel
#pragma omp single
    {
        volatile int to = 0;
#pragma omp taskloop
        for (int i = 0; i < to; i++)
            CHECK(!"reached");
#pragma omp taskloop grainsize(4)
        for (unsigned long long i = 5; i < (unsigned long long)to; i++)
            CHECK(!"reached");
    }

    // in_reduction with an enclosing group; taskloop inside a task.
    sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
    {
#pragma omp taskloop in_reduction(+ : sum) nogroup grainsize(10)
        for (int i = 0; i < 100; i++)
            sum += i;
#pragma omp task in_reduction(+ : sum)
        {
#pragma omp taskloop in_reduction(+ : sum)
            for (int i = 0; i < 10; i++)
                sum += 1;
        }
    }
    CHECK_EQ(sum, 4960);
    printf("%ld\n", sum);
    return check_result();
}
