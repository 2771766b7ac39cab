// master, masked with filter.
#include "check.h"
#include <omp.h>

int main(void)
{
    int master = 0, masked = 0, last = 0;
#pragma omp parallel
    {
        int n = omp_get_num_threads();
#pragma omp master
        master += 1 + omp_get_thread_num();
#pragma omp masked
        masked += 1 + omp_get_thread_num();
#pragma omp masked filter(n - 1)
        last += 1 + omp_get_thread_num();
    }
    CHECK_EQ(master, 1);
    CHECK_EQ(masked, 1);
    CHECK_EQ(last, omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
