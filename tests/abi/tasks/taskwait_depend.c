// taskwait with depend waits for the tasks it names.
#include "check.h"
#include <omp.h>

int main(void)
{
    for (int round = 0; round < 50; round++) {
        int x = 0, y = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp task depend(out : x) shared(x)
            x = 1;
#pragma omp task depend(out : y) shared(y)
            __atomic_store_n(&y, 1, __ATOMIC_RELAXED);
#pragma omp taskwait depend(in : x)
            CHECK_EQ(x, 1);
#pragma omp taskwait depend(inout : x) depend(in : y)
            CHECK_EQ(y, 1);
#pragma omp task depend(in : x) shared(x)
            CHECK_EQ(x, 1);
#pragma omp taskwait depend(out : x)
            x = 2;
#pragma omp taskwait
        }
        CHECK_EQ(x + y, 3);
    }
    printf("ok\n");
    return check_result();
}
