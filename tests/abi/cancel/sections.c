// fathomp: env OMP_CANCELLATION=true
// cancel sections: sections not yet begun are skipped.
#include "check.h"
#include <omp.h>

int main(void)
{
    for (int round = 0; round < 50; round++) {
        int ran = 0, after = 0;
#pragma omp parallel
        {
#pragma omp sections
            {
#pragma omp section
                {
#pragma omp cancel sections
                    CHECK(!"reached");
                }
#pragma omp section
                {
#pragma omp cancellation point sections
                    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
                }
#pragma omp section
                __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
            }
            __atomic_add_fetch(&after, 1, __ATOMIC_RELAXED);
        }
        CHECK(ran >= 0 && ran <= 2);
        if (omp_get_max_threads() == 1)
            CHECK_EQ(ran, 0);
        CHECK_EQ(after, omp_get_max_threads());
    }
    printf("ok\n");
    return check_result();
}
