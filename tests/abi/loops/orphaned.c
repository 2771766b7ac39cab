// Worksharing outside of any region: a team of one does all.
#include "check.h"
#include <omp.h>

static int work(void)
{
    int sum = 0;
#pragma omp for schedule(dynamic) nowait
    for (int i = 0; i < 10; i++)
        sum += i;
#pragma omp for schedule(guided)
    for (int i = 0; i < 10; i++)
        sum += i;
#pragma omp for schedule(runtime)
    for (unsigned long long i = 0; i < 10; i++)
        sum += (int)i;
#pragma omp sections
    {
#pragma omp section
        sum += 100;
#pragma omp section
        sum += 1000;
    }
#pragma omp single
    sum += 10000;
#pragma omp barrier
#pragma omp critical
    sum += 100000;
    return sum;
}

int main(void)
{
    int alone, total = 0;
    alone = work();
    CHECK_EQ(alone, 111235);
#pragma omp parallel reduction(+ : total)
    total += work();
    CHECK_EQ(total, 135 + 1100 + 10000 + 100000 * omp_get_max_threads());
    printf("%d\n", alone);
    return check_result();
}
