// GOMP_parallel_reductions: task reductions over a whole region.
#include "check.h"
#include <omp.h>

int main(void)
{
    int sum = 0;
    long product = 1;
    double least = 1e9;
#pragma omp parallel reduction(task, + : sum) reduction(task, * : product) reduction(task, min : least)
    {
        sum += 1;
#pragma omp single
        for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(* : product) in_reduction(min : least)
            {
                sum += i;
                product *= 1 + (i % 2);
                if (100.0 - i < least)
                    least = 100.0 - i;
            }
        }
    }
    CHECK_EQ(sum, 190 + omp_get_max_threads());
    CHECK_EQ(product, 1024);
    CHECK(least == 81.0);
    printf("ok\n");
    return check_result();
}
