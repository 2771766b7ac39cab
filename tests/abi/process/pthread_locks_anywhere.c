// The program starts a thread of its own at each member of a region, which takes locks and
// flushes whatever its node is at; the members meet at barriers meanwhile.
#include "check.h"
#include <omp.h>
#include <pthread.h>

enum { TURNS = 200, ROUNDS = 30, MARKS = 1 << 14 };
static omp_lock_t lock;
static long turns, marks[MARKS], rounds[ROUNDS];

static void *take_turns(void *unused)
{
    for (int i = 0; i < TURNS; i++) {
        omp_set_lock(&lock);
        turns++;
        marks[turns * 64 % MARKS]++;
        omp_unset_lock(&lock);
#pragma omp flush
    }
    return unused;
}

int main(void)
{
    int all = 0;
    omp_init_lock(&lock);
#pragma omp parallel
    {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, take_turns, NULL), 0);
#pragma omp single
        all = omp_get_num_threads();
        for (int round = 0; round < ROUNDS; round++) {
            omp_set_lock(&lock);
            rounds[round]++;
            omp_unset_lock(&lock);
#pragma omp barrier
            CHECK_EQ(rounds[round], all);
        }
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    long sum = 0;
    for (int i = 0; i < MARKS; i++)
        sum += marks[i];
    CHECK_EQ(turns, (long)TURNS * all);
    CHECK_EQ(sum, turns);
    printf("ok\n");
    return check_result();
}
