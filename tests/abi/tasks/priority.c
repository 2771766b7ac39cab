// fathomp: env OMP_MAX_TASK_PRIORITY=10
// Priorities are accepted up to the limit of the environment, and above.
#include "check.h"
#include <omp.h>

int main(void)
{
    int count = 0;
    CHECK_EQ(omp_get_max_task_priority(), 10);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 500; i++) {
#pragma omp task priority(i % 20) depend(inout : count)
        count++;
    }
    CHECK_EQ(count, 500);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 500; i++) {
#pragma omp task priority(i % 20)
        __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(count, 1000);
    printf("%d\n", count);
    return check_result();
}
