// fathomp: env OMP_PLACES=threads(2)
// fathomp: env OMP_PROC_BIND=spread,close
// A list of bindings, one per nesting level.
#include "check.h"
#include <omp.h>

int main(void)
{
    CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_spread);
    CHECK_EQ(omp_get_num_places(), 2);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_close);
        CHECK_EQ(omp_get_partition_num_places(), 1);
        int place = omp_get_place_num();
#pragma omp parallel num_threads(2)
        CHECK_EQ(omp_get_place_num(), place);
    }
    printf("ok\n");
    return check_result();
}
