// A timer that starts a thread each time (SIGEV_THREAD): the C library blocks all signals
// there, and the thread still shares memory and locks with all others.
#include "check.h"
#include <omp.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { KEPT = 1 << 14 };
static omp_lock_t lock;
static long ticks, kept[KEPT];

static void tick(union sigval value)
{
    omp_set_lock(&lock);
    ticks++;
    kept[ticks * 128 % KEPT] = *(long *)value.sival_ptr;
    omp_unset_lock(&lock);
}

int main(void)
{
    static long mark = 77;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = tick;
    event.sigev_value.sival_ptr = &mark;
    timer_t timer;
    omp_init_lock(&lock);
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    CHECK_EQ(timer_settime(timer, 0, &every, NULL), 0);
    long seen = 0, passes = 0;
    while (seen < 20) {
        passes++;
        seen = 0;
#pragma omp parallel reduction(max : seen)
        {
            omp_set_lock(&lock);
            seen = ticks;
            for (long i = 1; i <= ticks; i++)
                CHECK_EQ(kept[i * 128 % KEPT], 77);
            omp_unset_lock(&lock);
        }
    }
    CHECK_EQ(timer_delete(timer), 0);
    CHECK(passes > 0);
    printf("ok\n");
    return check_result();
}
