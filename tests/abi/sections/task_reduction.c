// Task reductions over sections.
#include "check.h"
#include <omp.h>

int main(void)
{
    int sum = 0;
#pragma omp parallel
    {
#pragma omp sections reduction(task, + : sum)
        {
#pragma omp section
            {
#pragma omp task in_reduction(+ : sum)
                sum += 5;
            }
#pragma omp section
            {
#pragma omp task in_reduction(+ : sum)
                sum += 7;
                sum += 1;
            }
        }
        CHECK_EQ(sum, 13);
    }
    printf("%d\n", sum);
    return check_result();
}
