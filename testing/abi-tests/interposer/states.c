// Waits of every kind, long enough to be told: one thread is late each time.
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 20, WORDS = 4096, LATE_US = 300 };

static int words[WORDS * 4];
static int rounds, turns, held, coming;
static omp_lock_t lock;

static void pass_time(double us) {
    double end = omp_get_wtime() + us * 1e-6;
    while (omp_get_wtime() < end) {
    }
}

// The thread that has a lock lets all others come to it, and wait.
static void hold(int all, int number) {
    double end = omp_get_wtime() + 1;
    int come = 0;
    while (come < all * number && omp_get_wtime() < end) {
#pragma omp atomic read seq_cst
        come = coming;
    }
    pass_time(LATE_US);
}

static void come(void) {
#pragma omp atomic update seq_cst
    coming++;
}

int main(void) {
    omp_init_lock(&lock);
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num(), all = omp_get_num_threads();
            come();
#pragma omp critical
            {
                rounds++;
                hold(all, 2 * round + 1);
            }
#pragma omp barrier
            come();
            omp_set_lock(&lock);
            held++;
            hold(all, 2 * round + 2);
            omp_unset_lock(&lock);
            if (me == 0) pass_time(LATE_US);
            // Pages of one are another's in the next round.
            for (int i = 0; i < WORDS; i++) words[(me + round) % all * WORDS + i]++;
#pragma omp barrier
#pragma omp for ordered schedule(static, 1) nowait
            for (int i = 0; i < 8; i++) {
#pragma omp ordered
                {
                    turns++;
                    pass_time(20);
                }
            }
        }
        pass_time(LATE_US);
    }
    omp_destroy_lock(&lock);
    int threads = 0;
#pragma omp parallel
#pragma omp master
    threads = omp_get_num_threads();
    int good = rounds == ROUNDS * threads && held == rounds && turns == ROUNDS * 8;
    for (int i = 0; i < threads * WORDS; i++) good &= words[i] == ROUNDS;
    if (!good) return 1;
    printf("%d rounds\n", ROUNDS);
    return 0;
}
