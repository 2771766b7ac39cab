// fathomp: env OMP_NUM_THREADS=3,2
// fathomp: env OMP_MAX_ACTIVE_LEVELS=2
// fathomp: threads 1
// OMP_NUM_THREADS as a list: one size per nesting level.
#include "check.h"
#include <omp.h>

int main(void)
{
    int ran = 0;
    CHECK_EQ(omp_get_max_threads(), 3);
    CHECK_EQ(omp_get_max_active_levels(), 2);
#pragma omp parallel
    {
        CHECK_EQ(omp_get_num_threads(), 3);
        CHECK_EQ(omp_get_max_threads(), 2);
#pragma omp parallel
        {
            CHECK_EQ(omp_get_num_threads(), 2);
            __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
        }
    }
    CHECK_EQ(ran, 6);
    printf("ok\n");
    return check_result();
}
