// Every member of a team runs the region once, with its own number.
#include "check.h"
#include <omp.h>

int main(void)
{
    int want = omp_get_max_threads();
    int ran[1024] = {0};
    CHECK_EQ(omp_in_parallel(), 0);
    CHECK_EQ(omp_get_num_threads(), 1);
    for (int round = 0; round < 100; round++) {
#pragma omp parallel
        {
            CHECK_EQ(omp_get_num_threads(), want);
            CHECK_EQ(omp_in_parallel(), want > 1);
            CHECK_EQ(omp_get_level(), 1);
            __atomic_add_fetch(&ran[omp_get_thread_num()], 1, __ATOMIC_RELAXED);
        }
    }
    for (int i = 0; i < want; i++)
        CHECK_EQ(ran[i], 100);
    for (int i = want; i < 1024; i++)
        CHECK_EQ(ran[i], 0);
    CHECK_EQ(omp_get_level(), 0);
    printf("threads %d\n", want);
    return check_result();
}
