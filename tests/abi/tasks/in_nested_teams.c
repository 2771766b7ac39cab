// Tasks of one team are run by that team; nested teams make their own.
#include "check.h"
#include <omp.h>

int main(void)
{
    int count = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(3)
        {
#pragma omp single nowait
            for (int i = 0; i < 50; i++) {
#pragma omp task
                {
                    CHECK_EQ(omp_get_level(), 2);
                    CHECK_EQ(omp_get_ancestor_thread_num(1), outer);
                    __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
                }
            }
        }
        // A region inside a task.
#pragma omp task
        {
#pragma omp parallel num_threads(2)
            {
#pragma omp task
                __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
            }
        }
    }
    CHECK_EQ(count, 2 * 50 + 2 * 2);
    printf("%d\n", count);
    return check_result();
}
