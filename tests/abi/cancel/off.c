// Without OMP_CANCELLATION the directives do nothing.
#include "check.h"
#include <omp.h>

int main(void)
{
    int ran = 0, members = 0, sections = 0;
    CHECK_EQ(omp_get_cancellation(), 0);
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < 100; i++) {
#pragma omp cancel for
            __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
        }
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
                __atomic_add_fetch(&sections, 1, __ATOMIC_RELAXED);
            }
#pragma omp section
            __atomic_add_fetch(&sections, 1, __ATOMIC_RELAXED);
        }
#pragma omp cancel parallel
        __atomic_add_fetch(&members, 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(ran, 100);
    CHECK_EQ(sections, 2);
    CHECK_EQ(members, omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
