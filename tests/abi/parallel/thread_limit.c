// fathomp: env OMP_THREAD_LIMIT=4
// No more threads at once than OMP_THREAD_LIMIT says, nested teams included.
#include "check.h"
#include <omp.h>
#include <unistd.h>

int main(void)
{
    int begun = 0, threads = 0;
    CHECK_EQ(omp_get_thread_limit(), 4);
#pragma omp parallel num_threads(16)
    CHECK(omp_get_num_threads() <= 4);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
    {
        int teams = omp_get_num_threads();
#pragma omp parallel num_threads(3)
        {
            if (omp_get_thread_num() == 0) {
                __atomic_add_fetch(&threads, omp_get_num_threads(), __ATOMIC_SEQ_CST);
                __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
            }
            // None ends before all have begun.
            while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < teams)
                usleep(100);
        }
    }
    CHECK(threads >= 1 && threads <= 4);
    printf("ok\n");
    return check_result();
}
