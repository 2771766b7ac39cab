// Threads that the program made itself, each with teams of its own, at once.
#include "check.h"
#include <omp.h>
#include <pthread.h>

enum { THREADS = 5, ROUNDS = 30 };

static void *work(void *arg)
{
    long id = (long)arg, total = 0;
    CHECK_EQ(omp_get_thread_num(), 0);
    CHECK_EQ(omp_get_num_threads(), 1);
    omp_set_num_threads((int)(id % 3) + 1);
    for (int round = 0; round < ROUNDS; round++) {
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            CHECK_EQ(omp_get_num_threads(), id % 3 + 1);
#pragma omp for schedule(dynamic, 3)
            for (int i = 0; i < 100; i++)
                sum += i;
#pragma omp single
            for (int i = 0; i < 10; i++) {
#pragma omp task
                __atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
            }
#pragma omp critical
            total++;
        }
        CHECK_EQ(sum, 4950);
    }
    CHECK_EQ(total, ROUNDS * (10 + id % 3 + 1));
    return NULL;
}

int main(void)
{
    int members = 0;
    for (int wave = 0; wave < 4; wave++) {
        pthread_t threads[THREADS];
        for (long t = 0; t < THREADS; t++)
            CHECK_EQ(pthread_create(&threads[t], NULL, work, (void *)t), 0);
#pragma omp parallel reduction(+ : members)
        members++;
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
    }
    CHECK_EQ(members, 4 * omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
