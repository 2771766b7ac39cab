// A monotonic schedule hands each thread its chunks in increasing order.
#include "check.h"
#include <omp.h>

int main(void)
{
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int last = -1;
#pragma omp for schedule(monotonic : dynamic, 2) nowait
        for (int i = 0; i < 5000; i++) {
            wrong += i <= last;
            last = i;
        }
        last = -1;
#pragma omp for schedule(monotonic : guided)
        for (int i = 0; i < 5000; i++) {
            wrong += i <= last;
            last = i;
        }
        last = 5000;
#pragma omp for schedule(monotonic : dynamic)
        for (int i = 4999; i >= 0; i--) {
            wrong += i >= last;
            last = i;
        }
    }
    CHECK_EQ(wrong, 0);
    printf("ok\n");
    return check_result();
}
