// Interval timer signals arrive all the time: waits must not end early, and
// handlers run on whichever thread.
#include "check.h"
#include <omp.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void tick(int number)
{
    (void)number;
    ticks++;
}

int main(void)
{
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL); // no SA_RESTART: system calls are interrupted
    struct itimerval every = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &every, NULL);
    int stamp[64] = {0};
    long tasks = 0, locked = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int round = 1; round <= 300 || ticks < 20; round++) {
#pragma omp parallel
        {
            stamp[omp_get_thread_num()] = round;
#pragma omp barrier
            for (int i = 0; i < omp_get_num_threads(); i++)
                CHECK_EQ(stamp[i], round);
#pragma omp single
            for (int i = 0; i < 5; i++) {
#pragma omp task
                __atomic_add_fetch(&tasks, 1, __ATOMIC_RELAXED);
            }
            omp_set_lock(&lock);
            locked++;
            omp_unset_lock(&lock);
        }
        CHECK_EQ(tasks, 5L * round);
        CHECK_EQ(locked, (long)round * omp_get_max_threads());
        if (round == 100000)
            break;
    }
    every = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    CHECK(ticks > 0);
    printf("ok\n");
    return check_result();
}
