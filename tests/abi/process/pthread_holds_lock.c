// A thread that the program made itself, on the last member's node, writes under a
// lock while that member waits at a barrier. Others need the lock to come there; or
// they wait for a flag that the thread raises.
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 3, PAGE = 1024 };

static omp_lock_t lock;
static volatile int state[4 * PAGE], flag[4 * PAGE];
static int count[4 * PAGE];
static int seen[ROUNDS];
static pthread_t thread;

static void *work(void *round)
{
    omp_set_lock(&lock);
    state[PAGE] = *(int *)round;
    usleep(20000);
    count[PAGE]++;
    omp_unset_lock(&lock);
    usleep(20000);
    count[2 * PAGE]++;
#pragma omp flush
    flag[PAGE] = *(int *)round;
#pragma omp flush
    return NULL;
}

int main(void)
{
    omp_init_lock(&lock);
#pragma omp parallel
    for (int round = 1; round <= ROUNDS; round++) {
        int me = omp_get_thread_num(), last = omp_get_num_threads() - 1;
        // On the thread's node, and its own: the thread is not one of those that share.
        int own = round;
        if (me == last) {
            CHECK_EQ(pthread_create(&thread, NULL, work, &own), 0);
            while (state[PAGE] != round)
                usleep(100);
        }
        if (last > 0) {
            if (me == 0) {
                while (state[PAGE] != round) {
#pragma omp flush
                }
                omp_set_lock(&lock);
                CHECK_EQ(count[PAGE], round);
                omp_unset_lock(&lock);
                while (flag[PAGE] != round) {
#pragma omp flush
                }
#pragma omp flush
                CHECK_EQ(count[2 * PAGE], round);
                seen[round - 1] = 1;
            }
        }
#pragma omp barrier
        if (me == last)
            CHECK_EQ(pthread_join(thread, NULL), 0);
#pragma omp barrier
    }
    for (int round = 0; round < ROUNDS; round++)
        CHECK_EQ(seen[round] || omp_get_max_threads() == 1, 1);
    omp_destroy_lock(&lock);
    printf("ok\n");
    return check_result();
}
