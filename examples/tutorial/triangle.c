/* Sums the distances of all pairs of points: later points have more pairs. */
#include <math.h>
#include <stdio.h>

#define POINTS 12000
#define ROUNDS 4

static double x[POINTS], y[POINTS];

int main(void)
{
    for (int i = 0; i < POINTS; i++) {
        x[i] = sin(i);
        y[i] = cos(3 * i);
    }
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < POINTS; i++)
            for (int j = 0; j < i; j++)
                sum += sqrt((x[i] - x[j]) * (x[i] - x[j]) + (y[i] - y[j]) * (y[i] - y[j]));
    }
    printf("mean distance %.6f\n", sum / ROUNDS / (POINTS / 2.0 * (POINTS - 1)));
}
