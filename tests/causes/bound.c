/* Threads that share one processor because they are bound to it.
   threads: two application threads inherit the place of the initial thread;
   loop:    a team whose environment has only one place. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static double step(double x, long times)
{
    while (times-- > 0)
        x = x * 0.9999999 + 1e-7;
    return x;
}

static void *application(void *slot)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int i = 0; i < 16; i++)
        sum += step(i, 1500000);
    *(double *)slot = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    double results[2] = {0, 0};
    if (argc > 1 && strcmp(argv[1], "loop") == 0) {
        for (int round = 0; round < 3; round++) {
            double sum = 0;
#pragma omp parallel for reduction(+ : sum)
            for (int i = 0; i < 8; i++)
                sum += step(i + round, 2000000);
            results[0] += sum;
        }
    } else {
        pthread_t threads[2];
#pragma omp parallel
        step(omp_get_thread_num(), 1000);
        for (int i = 0; i < 2; i++)
            pthread_create(threads + i, NULL, application, results + i);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
    }
    printf("%.6f\n", results[0] + results[1]);
    return 0;
}
