// Far more threads than processors: barriers must still get everybody through.
#include "check.h"
#include <omp.h>

int main(void)
{
    int phase[64] = {0};
#pragma omp parallel num_threads(64)
    {
        int me = omp_get_thread_num();
        CHECK_EQ(omp_get_num_threads(), 64);
        for (int round = 1; round <= 20; round++) {
            __atomic_store_n(&phase[me], round, __ATOMIC_RELAXED);
#pragma omp barrier
            for (int i = 0; i < 64; i++)
                CHECK_EQ(__atomic_load_n(&phase[i], __ATOMIC_RELAXED), round);
#pragma omp barrier
        }
    }
    printf("ok\n");
    return check_result();
}
