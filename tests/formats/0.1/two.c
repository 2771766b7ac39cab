#include <stdio.h>
int main(void)
{
    double sum = 0;
    int seen = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i;
#pragma omp parallel
    {
#pragma omp critical
        seen = 1;
    }
    printf("%g %d\n", sum, seen);
}
