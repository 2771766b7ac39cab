// fathomp: clang 14 runs iterations of collapsed loops twice
// Loops as gcc compiles them, with every schedule clause and modifier.
#include "check.h"
#include <omp.h>

enum { N = 1013 };
static int seen[N];

static void once(void)
{
    for (int i = 0; i < N; i++) {
        CHECK_EQ(seen[i], 1);
        seen[i] = 0;
    }
}

#define LOOP(clause)                                                   \
    do {                                                               \
        _Pragma("omp parallel")                                        \
        {                                                              \
            _Pragma(clause)                                            \
            for (int i = 0; i < N; i++)                                \
                __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);     \
        }                                                              \
        once();                                                        \
    } while (0)
#define COMBINED(clause)                                               \
    do {                                                               \
        _Pragma(clause)                                                \
        for (int i = N - 1; i >= 0; i--)                               \
            __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);         \
        once();                                                        \
    } while (0)

int main(void)
{
    LOOP("omp for");
    LOOP("omp for schedule(static)");
    LOOP("omp for schedule(static, 1)");
    LOOP("omp for schedule(static, 10)");
    LOOP("omp for schedule(dynamic)");
    LOOP("omp for schedule(dynamic, 17)");
    LOOP("omp for schedule(monotonic : dynamic, 3)");
    LOOP("omp for schedule(nonmonotonic : dynamic, 3)");
    LOOP("omp for schedule(guided)");
    LOOP("omp for schedule(guided, 8)");
    LOOP("omp for schedule(monotonic : guided)");
    LOOP("omp for schedule(auto)");
    LOOP("omp for schedule(runtime)");
    LOOP("omp for schedule(monotonic : runtime)");
    LOOP("omp for schedule(nonmonotonic : runtime)");
    LOOP("omp for nowait schedule(dynamic)");
    LOOP("omp for simd schedule(simd : dynamic, 5)");
    LOOP("omp loop");
    COMBINED("omp parallel for");
    COMBINED("omp parallel for schedule(static, 3)");
    COMBINED("omp parallel for schedule(dynamic, 2)");
    COMBINED("omp parallel for schedule(monotonic : dynamic, 2)");
    COMBINED("omp parallel for schedule(guided, 4)");
    COMBINED("omp parallel for schedule(runtime)");
    COMBINED("omp parallel for simd schedule(auto)");
    COMBINED("omp parallel loop");
    printf("ok\n");
    return check_result();
}
