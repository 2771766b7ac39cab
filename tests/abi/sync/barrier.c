// A barrier separates what was before from what comes after.
#include "check.h"
#include <omp.h>

extern void GOMP_barrier(void);

int main(void)
{
    int stamp[1024] = {0};
#pragma omp parallel
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        for (int round = 1; round <= 500; round++) {
            __atomic_store_n(&stamp[me], round, __ATOMIC_RELAXED);
            if (round % 2)
                GOMP_barrier();
            else {
#pragma omp barrier
            }
            for (int i = 0; i < n; i++) {
                int seen = __atomic_load_n(&stamp[i], __ATOMIC_RELAXED);
                CHECK(seen == round || seen == round + 1);
            }
        }
    }
    GOMP_barrier();
    printf("ok\n");
    return check_result();
}
