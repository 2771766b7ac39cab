/* Even iterations that update a shared table by atomics: on nodes each goes over the
   network. */
#include <stdio.h>

static long bins[128];

int main(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 40000; i++) {
        int at = i * 37 % 128;
#pragma omp atomic
        bins[at] += 1;
    }
    long sum = 0;
    for (int i = 0; i < 128; i++)
        sum += bins[i];
    printf("%ld\n", sum);
    return 0;
}
