// fathomp: env OMP_NUM_THREADS=  4  
// fathomp: env OMP_DYNAMIC= TRUE
// fathomp: env OMP_SCHEDULE= Guided , 7 
// fathomp: env OMP_WAIT_POLICY= Passive 
// fathomp: env OMP_THREAD_LIMIT= 9 
// fathomp: env OMP_CANCELLATION=True
// fathomp: threads 1
// White space and case do not matter.
#include "check.h"
#include <omp.h>

int main(void)
{
    omp_sched_t kind;
    int chunk;
    CHECK_EQ(omp_get_max_threads(), 4);
    CHECK_EQ(omp_get_dynamic(), 1);
    CHECK_EQ(omp_get_cancellation(), 1);
    CHECK_EQ(omp_get_thread_limit(), 9);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(kind & ~omp_sched_monotonic, omp_sched_guided);
    CHECK_EQ(chunk, 7);
    printf("ok\n");
    return check_result();
}
