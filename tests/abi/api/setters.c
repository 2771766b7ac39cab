// fathomp: clang takes equal calls of routines together and counts on their answers
// Values out of range are ignored or clipped.
#include "check.h"
#include <omp.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

int main(void)
{
    omp_set_num_threads(4);
    CHECK_EQ(omp_get_max_threads(), 4);
    omp_set_num_threads(0);
    CHECK_EQ(omp_get_max_threads(), 1);
    omp_set_num_threads(-7);
    CHECK_EQ(omp_get_max_threads(), 1);
    omp_set_num_threads(3);
    omp_set_max_active_levels(5);
    CHECK_EQ(omp_get_max_active_levels(), 5);
    omp_set_max_active_levels(-1);
    CHECK_EQ(omp_get_max_active_levels(), 5);
    omp_set_nested(0);
    CHECK_EQ(omp_get_nested(), 0);
    omp_set_nested(1);
    CHECK_EQ(omp_get_nested(), 1);
    CHECK(omp_get_max_active_levels() > 1);
    omp_set_dynamic(7);
    CHECK_EQ(omp_get_dynamic(), 1);
    omp_set_dynamic(0);
    CHECK_EQ(omp_get_dynamic(), 0);
    omp_sched_t kind;
    int chunk;
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided};
    for (int k = 0; k < 3; k++) {
        omp_set_schedule(kinds[k], 9);
        omp_get_schedule(&kind, &chunk);
        CHECK_EQ(kind & ~omp_sched_monotonic, kinds[k]);
        CHECK_EQ(chunk, 9);
    }
    omp_set_schedule(omp_sched_monotonic | omp_sched_dynamic, 2);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(kind, omp_sched_monotonic | omp_sched_dynamic);
    omp_set_schedule((omp_sched_t)99, 5);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(kind, omp_sched_monotonic | omp_sched_dynamic);
    CHECK_EQ(chunk, 2);
    omp_set_schedule(omp_sched_dynamic, 0);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(chunk, 1);
    omp_set_schedule(omp_sched_static, 0);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(chunk, 0);
    omp_set_schedule(omp_sched_auto, 33);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(kind & ~omp_sched_monotonic, omp_sched_auto);
    omp_set_default_device(3);
    CHECK_EQ(omp_get_default_device(), 3);
    printf("ok\n");
    return check_result();
}
