// What the query routines say outside and inside a region.
#include "check.h"
#include <omp.h>

int main(void)
{
    CHECK(omp_get_num_procs() >= 1);
    CHECK_EQ(omp_get_thread_num(), 0);
    CHECK_EQ(omp_get_num_threads(), 1);
    CHECK_EQ(omp_in_parallel(), 0);
    CHECK_EQ(omp_get_level(), 0);
    CHECK_EQ(omp_get_active_level(), 0);
    CHECK_EQ(omp_get_ancestor_thread_num(0), 0);
    CHECK_EQ(omp_get_ancestor_thread_num(1), -1);
    CHECK_EQ(omp_get_team_size(0), 1);
    CHECK_EQ(omp_get_team_size(1), -1);
    CHECK_EQ(omp_in_final(), 0);
    CHECK_EQ(omp_get_cancellation(), 0);
    CHECK_EQ(omp_get_dynamic(), 0);
    CHECK_EQ(omp_get_max_active_levels(), 1);
    CHECK(omp_get_supported_active_levels() >= 4);
    CHECK(omp_get_thread_limit() >= 1024);
    CHECK_EQ(omp_get_max_task_priority(), 0);
    CHECK_EQ(omp_get_num_teams(), 1);
    CHECK_EQ(omp_get_team_num(), 0);
    CHECK_EQ(omp_get_max_teams(), 0);
    CHECK_EQ(omp_get_teams_thread_limit(), 0);
    omp_set_num_teams(5);
    CHECK_EQ(omp_get_max_teams(), 5);
    omp_set_teams_thread_limit(6);
    CHECK_EQ(omp_get_teams_thread_limit(), 6);
    CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_false);
#pragma omp parallel
    {
        int n = omp_get_num_threads(), me = omp_get_thread_num();
        CHECK(me >= 0 && me < n);
        CHECK_EQ(omp_get_level(), 1);
        CHECK_EQ(omp_get_active_level(), n > 1);
        CHECK_EQ(omp_get_ancestor_thread_num(1), me);
        CHECK_EQ(omp_get_team_size(1), n);
    }
    printf("threads %d\n", omp_get_max_threads());
    return check_result();
}
