// fathomp: env OMP_SCHEDULE=static,4
// schedule(runtime) follows OMP_SCHEDULE until omp_set_schedule changes it.
#include "check.h"
#include <omp.h>

enum { N = 64 };

int main(void)
{
    int owner[N];
    int threads = omp_get_max_threads();
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(kind & ~omp_sched_monotonic, omp_sched_static);
    CHECK_EQ(chunk, 4);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < N; i++)
        owner[i] = omp_get_thread_num();
    for (int i = 0; i < N; i++)
        CHECK_EQ(owner[i], i / 4 % threads);
    omp_set_schedule(omp_sched_static, 1);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < N; i++)
        owner[i] = omp_get_thread_num();
    for (int i = 0; i < N; i++)
        CHECK_EQ(owner[i], i % threads);
    omp_set_schedule(omp_sched_guided, -3);
    omp_get_schedule(&kind, &chunk);
    printf("%d %d\n", (int)(kind & ~omp_sched_monotonic), chunk);
    return check_result();
}
