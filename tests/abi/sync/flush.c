// Handing a value over with flushes and a flag.
#include "check.h"
#include <omp.h>

int main(void)
{
    for (int round = 0; round < 20; round++) {
        int value = 0, flag = 0;
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 0) {
                value = 42 + round;
#pragma omp flush(value)
#pragma omp atomic write
                flag = 1;
#pragma omp flush
            } else {
                int seen = 0;
                while (!seen) {
#pragma omp flush acquire
#pragma omp atomic read
                    seen = flag;
                }
#pragma omp flush acq_rel
                CHECK_EQ(value, 42 + round);
            }
        }
    }
    printf("ok\n");
    return check_result();
}
