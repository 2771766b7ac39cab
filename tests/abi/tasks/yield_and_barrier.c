// taskyield, tasks that wait at a barrier, and tasks made by tasks after the
// threads that could run them have reached the barrier.
#include "check.h"
#include <omp.h>

static int count;

static void spread(int depth)
{
    __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (depth > 0) {
#pragma omp task
        spread(depth - 1);
#pragma omp taskyield
#pragma omp task untied
        spread(depth - 1);
    }
}

int main(void)
{
#pragma omp parallel
    {
        for (int round = 1; round <= 10; round++) {
            if (omp_get_thread_num() == 0) {
#pragma omp task
                spread(8);
            }
#pragma omp barrier
            CHECK_EQ(__atomic_load_n(&count, __ATOMIC_RELAXED), round * 511);
#pragma omp barrier
        }
#pragma omp master
        {
#pragma omp task
            spread(8);
        }
    }
    CHECK_EQ(count, 11 * 511);
    printf("%d\n", count);
    return check_result();
}
