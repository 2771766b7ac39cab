// A task inherits the ICVs of the task that made it and keeps its own changes.
#include "check.h"
#include <omp.h>

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_set_num_threads(5);
#pragma omp task
        {
            CHECK_EQ(omp_get_max_threads(), 5);
            omp_set_num_threads(7);
            CHECK_EQ(omp_get_max_threads(), 7);
        }
#pragma omp taskwait
        CHECK_EQ(omp_get_max_threads(), 5);
#pragma omp task if (0)
        {
            CHECK_EQ(omp_get_max_threads(), 5);
            omp_set_num_threads(9);
        }
        CHECK_EQ(omp_get_max_threads(), 5);
    }
    printf("ok\n");
    return check_result();
}
