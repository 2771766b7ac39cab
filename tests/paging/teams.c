/* OpenMP: threads touch memory that nobody has touched yet, in parallel regions. */
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 1 << 20, ROUNDS = 8 };

static double values[ROUNDS][VALUES];

int main(void)
{
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < VALUES; i++)
            values[round][i] = i % 7 + round;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < VALUES; i++)
            sum += values[round][i];
    }
    printf("sum %g\n", sum);
    return 0;
}
