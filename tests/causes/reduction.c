/* A histogram of many bins and few samples: each thread's bins are added to the others' one
   thread after another, by a reduction of a part of an array. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    const long bins = 400000, samples = 20000;
    double *counts = calloc(bins, sizeof *counts);
    double total = 0;

    for (int step = 0; step < 60; step++) {
#pragma omp parallel
        {
#pragma omp for reduction(+ : counts[0:bins]) \
    schedule(static)
            for (long i = 0; i < samples; i++)
                counts[(i * 7919 + step) % bins] += 1;
        }
    }
    for (long i = 0; i < bins; i++)
        total += counts[i];
    printf("%.0f\n", total);
    return 0;
}
