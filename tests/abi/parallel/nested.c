// Nested teams, level queries, and the limit on active levels.
#include "check.h"
#include <omp.h>

int main(void)
{
    int ran = 0;
    CHECK(omp_get_supported_active_levels() >= 3);
    omp_set_max_active_levels(3);
    CHECK_EQ(omp_get_max_active_levels(), 3);
#pragma omp parallel num_threads(2)
    {
        int first = omp_get_thread_num();
        CHECK_EQ(omp_get_level(), 1);
        CHECK_EQ(omp_get_active_level(), 1);
#pragma omp parallel num_threads(3)
        {
            int second = omp_get_thread_num();
            CHECK_EQ(omp_get_level(), 2);
            CHECK_EQ(omp_get_num_threads(), 3);
            CHECK_EQ(omp_get_ancestor_thread_num(1), first);
#pragma omp parallel num_threads(1)
            {
                CHECK_EQ(omp_get_level(), 3);
                CHECK_EQ(omp_get_active_level(), 2);
#pragma omp parallel num_threads(2)
                {
                    CHECK_EQ(omp_get_level(), 4);
                    CHECK_EQ(omp_get_active_level(), 3);
                    CHECK_EQ(omp_get_num_threads(), 2);
                    CHECK_EQ(omp_get_ancestor_thread_num(0), 0);
                    CHECK_EQ(omp_get_ancestor_thread_num(1), first);
                    CHECK_EQ(omp_get_ancestor_thread_num(2), second);
                    CHECK_EQ(omp_get_ancestor_thread_num(3), 0);
                    CHECK_EQ(omp_get_ancestor_thread_num(4), omp_get_thread_num());
                    CHECK_EQ(omp_get_ancestor_thread_num(5), -1);
                    CHECK_EQ(omp_get_ancestor_thread_num(-1), -1);
                    CHECK_EQ(omp_get_team_size(0), 1);
                    CHECK_EQ(omp_get_team_size(1), 2);
                    CHECK_EQ(omp_get_team_size(2), 3);
                    CHECK_EQ(omp_get_team_size(3), 1);
                    CHECK_EQ(omp_get_team_size(4), 2);
                    CHECK_EQ(omp_get_team_size(5), -1);
                    // One more would be the fourth active level.
#pragma omp parallel num_threads(4)
                    {
                        CHECK_EQ(omp_get_num_threads(), 1);
                        CHECK_EQ(omp_get_level(), 5);
                        CHECK_EQ(omp_get_active_level(), 3);
                        __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
                    }
                }
            }
        }
    }
    CHECK_EQ(ran, 2 * 3 * 1 * 2);
    omp_set_max_active_levels(1);
    ran = 0;
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(3)
    {
        CHECK_EQ(omp_get_num_threads(), 1);
        __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(ran, 3);
    omp_set_max_active_levels(0);
#pragma omp parallel num_threads(3)
    CHECK_EQ(omp_get_num_threads(), 1);
    printf("ok\n");
    return check_result();
}
