// fathomp: nodes skipped each node has an environment of its own
// Variables set by the program itself after the start change nothing, and
// reading the environment from regions is safe.
#include "check.h"
#include <omp.h>

int main(void)
{
    int before = omp_get_max_threads();
    setenv("OMP_NUM_THREADS", "11", 1);
    setenv("OMP_DYNAMIC", "true", 1);
    setenv("OMP_SCHEDULE", "guided", 1);
    CHECK_EQ(omp_get_max_threads(), before);
#pragma omp parallel
    {
        CHECK_EQ(omp_get_num_threads(), before);
        CHECK(strcmp(getenv("OMP_NUM_THREADS"), "11") == 0);
    }
    unsetenv("OMP_NUM_THREADS");
    CHECK_EQ(omp_get_max_threads(), before);
    CHECK_EQ(omp_get_dynamic(), 0);
    printf("ok\n");
    return check_result();
}
