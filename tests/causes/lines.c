/* Counters of threads and the cache lines they lie in.
   atomics, volatiles: neighbours in one line; padded: a line and more for each;
   one: all threads count in the same word. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 24000000 };
static long votes[16] __attribute__((aligned(64)));
static volatile int marks[32] __attribute__((aligned(64)));
static struct {
    volatile long n;
    char rest[248];
} apart[16] __attribute__((aligned(256)));
static long tickets;

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "atomics";
    long sum = 0;
    if (strcmp(way, "atomics") == 0) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < ROUNDS; i++) {
#pragma omp atomic
            votes[omp_get_thread_num()]++;
        }
    } else if (strcmp(way, "volatiles") == 0) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            int share = 20 * ROUNDS / omp_get_num_threads();
            for (int i = 0; i < share; i++)
                marks[me] = marks[me] + (i & 1);
        }
    } else if (strcmp(way, "padded") == 0) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            long share = 100L * ROUNDS / omp_get_num_threads();
            for (long i = 0; i < share; i++)
                apart[me].n += i & 1;
        }
    } else {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < ROUNDS; i++)
#pragma omp atomic
            tickets += i & 3;
    }
    for (int i = 0; i < 16; i++)
        sum += votes[i] + marks[i] + apart[i].n;
    printf("%ld\n", sum + tickets);
    return 0;
}
