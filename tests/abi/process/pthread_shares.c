// A thread that the program made itself writes what the team's members write too,
// under a lock, and parts of pages that they write: while they are at barriers or not.
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

enum { ROUNDS = 40, STRIDE = 16, WORDS = 64 * 1024, SHARES = 4, BLOCK = 1024 };

static long *words;
static long counter, wanted;
static omp_lock_t lock;

static void add_one(void)
{
    omp_set_lock(&lock);
    counter++;
    omp_unset_lock(&lock);
}

// Every STRIDE-th word is this thread's alone.
static void *work(void *unused)
{
    (void)unused;
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i += STRIDE) {
            CHECK_EQ(words[i], round - 1);
            words[i] = round;
        }
        add_one();
    }
    return NULL;
}

int main(void)
{
    words = calloc(WORDS, sizeof *words);
    omp_init_lock(&lock);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, work, NULL), 0);
    for (int round = 1; round <= ROUNDS; round++) {
#pragma omp parallel reduction(+ : wanted)
        {
            int me = omp_get_thread_num(), all = omp_get_num_threads();
            for (int share = 0; share < SHARES; share++) {
                // Another part each time.
                int part = (me + share + round) % all;
                for (int i = 0; i < WORDS; i++)
                    if (i % STRIDE != 0 && i / BLOCK % all == part)
                        words[i] += share + 1;
#pragma omp barrier
            }
            add_one();
            wanted++;
        }
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(counter, wanted + ROUNDS);
    for (int i = 0; i < WORDS; i++)
        CHECK_EQ(words[i], i % STRIDE ? ROUNDS * SHARES * (SHARES + 1) / 2 : ROUNDS);
    omp_destroy_lock(&lock);
    free(words);
    printf("ok\n");
    return check_result();
}
