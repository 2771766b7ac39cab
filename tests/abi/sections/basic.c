// Each section runs once; firstprivate and lastprivate; more and fewer
// sections than threads.
#include "check.h"
#include <omp.h>

int main(void)
{
    int a = 0, b = 0, c = 0, last = -1, given = 4;
    for (int round = 0; round < 50; round++) {
#pragma omp parallel
        {
#pragma omp sections nowait
            {
#pragma omp section
                __atomic_add_fetch(&a, 1, __ATOMIC_RELAXED);
#pragma omp section
                __atomic_add_fetch(&b, 1, __ATOMIC_RELAXED);
#pragma omp section
                __atomic_add_fetch(&c, 1, __ATOMIC_RELAXED);
            }
#pragma omp sections firstprivate(given) lastprivate(last)
            {
#pragma omp section
                last = given;
#pragma omp section
                last = given + 1;
#pragma omp section
                last = given + round;
            }
#pragma omp sections
            {
                __atomic_add_fetch(&a, 1, __ATOMIC_RELAXED);
            }
        }
        CHECK_EQ(last, 4 + round);
    }
    CHECK_EQ(a, 100);
    CHECK_EQ(b, 50);
    CHECK_EQ(c, 50);
    int sum = 0;
#pragma omp parallel sections reduction(+ : sum)
    {
#pragma omp section
        sum += 1;
#pragma omp section
        sum += 10;
#pragma omp section
        sum += 100;
#pragma omp section
        sum += 1000;
    }
    CHECK_EQ(sum, 1111);
    printf("%d\n", sum);
    return check_result();
}
