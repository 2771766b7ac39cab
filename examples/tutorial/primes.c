/* Counts primes. Each thread says how far it is, for whoever asks. */
#include <omp.h>
#include <stdio.h>

#define NUMBERS 6000000
#define THREADS_MAX 256

static volatile long found[THREADS_MAX], looked_at[THREADS_MAX];
static unsigned char composite[NUMBERS];

int main(void)
{
    for (long i = 2; i * i < NUMBERS; i++)
        for (long j = i * i; !composite[i] && j < NUMBERS; j += i)
            composite[j] = 1;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            found[me] = 0;
#pragma omp for
            for (long i = 2; i < NUMBERS; i++) {
                found[me] += !composite[i];
                looked_at[me] = i;
            }
        }
    }
    long sum = 0;
    for (int thread = 0; thread < THREADS_MAX; thread++)
        sum += found[thread];
    printf("%ld primes below %d\n", sum, NUMBERS);
}
