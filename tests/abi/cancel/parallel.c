// fathomp: env OMP_CANCELLATION=true
// cancel parallel: everybody leaves, whoever had not begun does not begin.
#include "check.h"
#include <omp.h>

int main(void)
{
    int threads = omp_get_max_threads(), beyond = 0;
    CHECK_EQ(omp_get_cancellation(), 1);
    for (int round = 0; round < 50; round++) {
        int entered = 0;
#pragma omp parallel
        {
            __atomic_add_fetch(&entered, 1, __ATOMIC_RELAXED);
            if (omp_get_thread_num() == omp_get_num_threads() - 1) {
#pragma omp cancel parallel
            }
            // Cancellation point: a barrier that not everybody reaches.
#pragma omp barrier
            __atomic_add_fetch(&beyond, 1, __ATOMIC_RELAXED);
        }
        CHECK_EQ(entered, threads);
    }
    CHECK_EQ(beyond, 0);
    // A loop that everybody leaves at a cancellation point.
#pragma omp parallel
    {
        long turns = 0;
        while (1) {
            turns++;
#pragma omp cancellation point parallel
            if (omp_get_thread_num() == 0 && turns == 100) {
#pragma omp cancel parallel
            }
            // The others spin until they see it.
        }
    }
    // And the next region is as new.
    int members = 0;
#pragma omp parallel reduction(+ : members)
    members++;
    CHECK_EQ(members, threads);
    // An if clause that is false cancels nothing.
    members = 0;
#pragma omp parallel
    {
#pragma omp cancel parallel if (0)
#pragma omp barrier
        __atomic_add_fetch(&members, 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(members, threads);
    printf("ok\n");
    return check_result();
}
