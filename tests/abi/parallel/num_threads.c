// num_threads, if, and omp_set_num_threads decide the size of a team.
#include "check.h"
#include <omp.h>

static int size_of(int n)
{
    int size = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
    size = omp_get_num_threads();
    return size;
}

int main(void)
{
    int want = omp_get_max_threads();
    for (int n = 1; n <= 9; n++)
        CHECK_EQ(size_of(n), n);
    // Shrinking and growing again, over and over.
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(size_of(1 + i % 7), 1 + i % 7);
        CHECK_EQ(size_of(7 - i % 7), 7 - i % 7);
    }
    volatile int no = 0, yes = 1;
#pragma omp parallel if (no)
    {
        CHECK_EQ(omp_get_num_threads(), 1);
        CHECK_EQ(omp_in_parallel(), 0);
        CHECK_EQ(omp_get_level(), 1);
        CHECK_EQ(omp_get_active_level(), 0);
    }
#pragma omp parallel if (yes) num_threads(3)
    CHECK_EQ(omp_get_num_threads(), 3);
    omp_set_num_threads(5);
    CHECK_EQ(omp_get_max_threads(), 5);
#pragma omp parallel
    CHECK_EQ(omp_get_num_threads(), 5);
    omp_set_num_threads(want);
#pragma omp parallel
    CHECK_EQ(omp_get_num_threads(), want);
    printf("ok\n");
    return check_result();
}
