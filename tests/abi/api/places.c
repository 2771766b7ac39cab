// fathomp: clang 14 calls the policy primary master
// fathomp: env OMP_PLACES={0},{1}
// fathomp: env OMP_PROC_BIND=close
// Place queries with two explicit places.
#define _GNU_SOURCE
#include "check.h"
#include <omp.h>
#include <sched.h>

int main(void)
{
    int ids[64], nums[64];
    CHECK_EQ(omp_get_num_places(), 2);
    CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_close);
    for (int p = 0; p < 2; p++) {
        CHECK_EQ(omp_get_place_num_procs(p), 1);
        omp_get_place_proc_ids(p, ids);
        CHECK_EQ(ids[0], p);
    }
    CHECK_EQ(omp_get_place_num_procs(-1), 0);
    CHECK_EQ(omp_get_place_num_procs(2), 0);
    CHECK_EQ(omp_get_place_num(), 0);
    CHECK_EQ(omp_get_partition_num_places(), 2);
    omp_get_partition_place_nums(nums);
    CHECK_EQ(nums[0], 0);
    CHECK_EQ(nums[1], 1);
#pragma omp parallel num_threads(2)
    {
        int place = omp_get_place_num();
        cpu_set_t mask;
        CHECK_EQ(place, omp_get_thread_num());
        CHECK_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
        CHECK_EQ(CPU_COUNT(&mask), 1);
        CHECK(CPU_ISSET(place, &mask));
    }
#pragma omp parallel num_threads(2) proc_bind(primary)
    CHECK_EQ(omp_get_place_num(), 0);
#pragma omp parallel num_threads(2) proc_bind(spread)
    {
        int mine[64];
        CHECK_EQ(omp_get_partition_num_places(), 1);
        omp_get_partition_place_nums(mine);
        CHECK_EQ(mine[0], omp_get_thread_num());
        CHECK_EQ(omp_get_place_num(), omp_get_thread_num());
    }
#pragma omp parallel num_threads(4)
    CHECK_EQ(omp_get_place_num(), omp_get_thread_num() / 2);
    printf("ok\n");
    return check_result();
}
