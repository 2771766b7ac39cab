// teams on the host: a league, its numbers, its limits.
#include "check.h"
#include <omp.h>

int main(void)
{
    int leaders = 0, members = 0;
    CHECK_EQ(omp_get_num_teams(), 1);
    CHECK_EQ(omp_get_team_num(), 0);
#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : leaders, members)
    {
        CHECK(omp_get_num_teams() >= 1 && omp_get_num_teams() <= 3);
        CHECK(omp_get_team_num() < omp_get_num_teams());
        leaders++;
#pragma omp parallel num_threads(8) reduction(+ : members)
        {
            CHECK(omp_get_num_threads() <= 2);
            CHECK_EQ(omp_get_thread_limit(), 2);
            CHECK_EQ(omp_get_level(), 1);
            members++;
        }
    }
    CHECK(leaders >= 1 && leaders <= 3);
    CHECK(members >= leaders);

    int seen[100] = {0};
#pragma omp teams distribute parallel for num_teams(2)
    for (int i = 0; i < 100; i++)
        __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(seen[i], 1);
#pragma omp teams
    {
#pragma omp distribute dist_schedule(static, 7)
        for (int i = 0; i < 100; i++)
            __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
    }
    for (int i = 0; i < 100; i++)
        CHECK_EQ(seen[i], 2);
    CHECK_EQ(omp_get_num_teams(), 1);
    printf("leaders %d\n", leaders);
    return check_result();
}
