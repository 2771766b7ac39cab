// ICVs set inside a region belong to the task that set them.
#include "check.h"
#include <omp.h>

int main(void)
{
    int before = omp_get_max_threads();
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        omp_set_num_threads(2 + omp_get_thread_num());
        omp_set_schedule(omp_sched_dynamic, 5 + omp_get_thread_num());
        omp_set_dynamic(0);
        CHECK_EQ(omp_get_max_threads(), 2 + omp_get_thread_num());
#pragma omp barrier
        CHECK_EQ(omp_get_max_threads(), 2 + omp_get_thread_num());
        int mine = omp_get_thread_num();
#pragma omp parallel
        {
            omp_sched_t kind;
            int chunk;
            CHECK_EQ(omp_get_num_threads(), 2 + mine);
            omp_get_schedule(&kind, &chunk);
            CHECK_EQ(kind & ~omp_sched_monotonic, omp_sched_dynamic);
            CHECK_EQ(chunk, 5 + mine);
        }
    }
    CHECK_EQ(omp_get_max_threads(), before);
    printf("ok\n");
    return check_result();
}
