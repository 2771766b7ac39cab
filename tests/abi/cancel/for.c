// fathomp: env OMP_CANCELLATION=true
// cancel for: the rest of the iterations is skipped, the region goes on.
#include "check.h"
#include <omp.h>

#define CANCELLED(clause)                                                   \
    do {                                                                    \
        int ran = 0, after = 0;                                             \
        _Pragma("omp parallel")                                             \
        {                                                                   \
            _Pragma(clause)                                                 \
            for (int i = 0; i < 100000000; i++) {                           \
                __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);              \
                if (i >= 10) {                                              \
                    _Pragma("omp cancel for")                               \
                }                                                           \
                _Pragma("omp cancellation point for")                       \
            }                                                               \
            __atomic_add_fetch(&after, 1, __ATOMIC_RELAXED);                \
        }                                                                   \
        CHECK(ran >= 1 && ran < 100000);                                    \
        CHECK_EQ(after, omp_get_max_threads());                             \
    } while (0)

int main(void)
{
    for (int round = 0; round < 10; round++) {
        CANCELLED("omp for");
        CANCELLED("omp for schedule(static, 2)");
        CANCELLED("omp for schedule(dynamic)");
        CANCELLED("omp for schedule(dynamic, 5)");
        CANCELLED("omp for schedule(guided)");
        CANCELLED("omp for schedule(runtime)");
    }
    // A following loop is not cancelled.
    int ran = 0;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
#pragma omp cancel for
        }
#pragma omp for schedule(dynamic) reduction(+ : ran)
        for (int i = 0; i < 100; i++)
            ran++;
    }
    CHECK_EQ(ran, 100);
    printf("ok\n");
    return check_result();
}
