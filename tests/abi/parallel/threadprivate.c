// threadprivate variables last from region to region; copyin spreads the
// master's copy.
#include "check.h"
#include <omp.h>

static int counter = 5;
static double block[100];
#pragma omp threadprivate(counter, block)

int main(void)
{
    counter = 10;
    block[99] = 2.5;
#pragma omp parallel copyin(counter, block)
    {
        CHECK_EQ(counter, 10);
        CHECK(block[99] == 2.5);
        counter += omp_get_thread_num();
        block[0] = omp_get_thread_num();
    }
    for (int round = 0; round < 10; round++) {
#pragma omp parallel
        {
            CHECK_EQ(counter, 10 + round + omp_get_thread_num());
            CHECK(block[0] == omp_get_thread_num());
            counter++;
        }
    }
    CHECK_EQ(counter, 20);
    printf("ok\n");
    return check_result();
}
