// fathomp: env OMP_THREAD_LIMIT=4
// No more threads at once than OMP_THREAD_LIMIT says, nested teams included.
#include "check.h"
#include <omp.h>

int main(void)
{
    int now = 0, most = 0;
    CHECK_EQ(omp_get_thread_limit(), 4);
#pragma omp parallel num_threads(16)
    CHECK(omp_get_num_threads() <= 4);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
    {
#pragma omp parallel num_threads(3)
        {
            int running = __atomic_add_fetch(&now, 1, __ATOMIC_SEQ_CST);
#pragma omp critical
            if (running > most)
                most = running;
#pragma omp barrier
            __atomic_sub_fetch(&now, 1, __ATOMIC_SEQ_CST);
        }
    }
    CHECK(most <= 4);
    printf("ok\n");
    return check_result();
}
