// Threads take locks of their own again and again, so that their node keeps them, and now and
// then each other's; nestable ones and critical sections between. After a barrier all are free,
// also for who only tries.
#include "check.h"
#include <omp.h>

#define LOCKS 64
#define ROUNDS 1500
#define THREADS_MAX 64

static omp_lock_t locks[LOCKS];
static omp_nest_lock_t nest;
static long taken[LOCKS];
static long nested, counted;

static void add(int at, long much)
{
    omp_set_lock(&locks[at]);
    taken[at] += much;
    omp_unset_lock(&locks[at]);
}

int main(void)
{
    long expected = 0, total = 0;
    for (int i = 0; i < LOCKS; i++)
        omp_init_lock(&locks[i]);
    omp_init_nest_lock(&nest);
    int threads = omp_get_max_threads() < THREADS_MAX ? omp_get_max_threads() : THREADS_MAX;
    for (int repeat = 0; repeat < 3; repeat++) {
        int refused = 0;
#pragma omp parallel num_threads(threads) reduction(+ : refused)
        {
            int me = omp_get_thread_num(), n = omp_get_num_threads();
            unsigned chance = me * 77 + repeat + 1;
            for (int round = 0; round < ROUNDS; round++) {
                chance = chance * 1103515245 + 12345;
                int others = round % 17 == 0;
                add(others ? (chance >> 16) % LOCKS : (me + n * (round % 4)) % LOCKS, 1);
                if (round % 5 == 0) {
                    omp_set_nest_lock(&nest);
                    omp_set_nest_lock(&nest);
                    nested++;
                    omp_unset_nest_lock(&nest);
                    omp_unset_nest_lock(&nest);
                }
                if (round % 100 == 99) {
#pragma omp critical
                    counted++;
                }
            }
#pragma omp barrier
#pragma omp single
            for (int i = 0; i < LOCKS; i++) {
                if (omp_test_lock(&locks[i])) {
                    taken[i] += 1000000;
                    omp_unset_lock(&locks[i]);
                } else {
                    refused++;
                }
            }
            for (int i = 0; i < 20; i++)
                add(me, 1);
            // Those that are kept can be had as well, by one thread after the other.
            for (int turn = 0; turn < n; turn++) {
#pragma omp barrier
                for (int i = 0; i < n && turn == me; i++) {
                    if (omp_test_lock(&locks[i])) {
                        taken[i] += 7;
                        omp_unset_lock(&locks[i]);
                    } else {
                        refused++;
                    }
                }
            }
        }
        CHECK_EQ(refused, 0);
        expected += threads * (ROUNDS + 20L + 7L * threads) + 1000000L * LOCKS;
    }
    for (int i = 0; i < LOCKS; i++)
        total += taken[i];
    CHECK_EQ(total, expected);
    CHECK_EQ(nested, 3L * threads * (ROUNDS / 5));
    CHECK_EQ(counted, 3L * threads * (ROUNDS / 100));
    printf("ok\n");
    return check_result();
}
