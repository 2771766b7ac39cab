// More threads than a machine has processors, by far.
// fathomp: threads 1
// fathomp: timeout 60
#include "check.h"
#include <omp.h>

enum { THREADS = 600 };
static char came[THREADS];

int main(void)
{
    long sum = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : sum)
    {
        CHECK_EQ(omp_get_num_threads(), THREADS);
        came[omp_get_thread_num()]++;
        sum += omp_get_thread_num();
    }
    CHECK_EQ(sum, THREADS * (THREADS - 1L) / 2);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(came[i], 1);
    printf("done\n");
    return check_result();
}
