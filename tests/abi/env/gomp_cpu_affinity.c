// fathomp: env GOMP_CPU_AFFINITY=1 0
// fathomp: threads 1 2
// GOMP_CPU_AFFINITY binds threads to processors in its order.
#define _GNU_SOURCE
#include "check.h"
#include <omp.h>
#include <sched.h>

int main(void)
{
    CHECK_EQ(omp_get_num_places(), 2);
    CHECK(omp_get_proc_bind() != omp_proc_bind_false);
#pragma omp parallel
    {
        cpu_set_t mask;
        CHECK_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
        CHECK_EQ(CPU_COUNT(&mask), 1);
        // More members than places (on nodes): neighbours share one.
        int members = omp_get_num_threads(), place = omp_get_thread_num();
        if (members > 2)
            place = place * 2 / members;
        CHECK(CPU_ISSET(1 - place, &mask));
    }
    printf("ok\n");
    return check_result();
}
