// fathomp: env OMP_NUM_TEAMS=3
// fathomp: env OMP_TEAMS_THREAD_LIMIT=2
// fathomp: env OMP_DEFAULT_DEVICE=0
// OMP_NUM_TEAMS and OMP_TEAMS_THREAD_LIMIT.
#include "check.h"
#include <omp.h>

int main(void)
{
    int leaders = 0;
    CHECK_EQ(omp_get_max_teams(), 3);
    CHECK_EQ(omp_get_teams_thread_limit(), 2);
    CHECK_EQ(omp_get_default_device(), 0);
#pragma omp teams reduction(+ : leaders)
    {
        leaders++;
#pragma omp parallel
        CHECK(omp_get_num_threads() <= 2);
    }
    CHECK(leaders >= 1 && leaders <= 3);
    printf("%d\n", leaders);
    return check_result();
}
