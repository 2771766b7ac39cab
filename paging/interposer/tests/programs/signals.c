/* Signals that come at any moment, inside the interposer too: their handler reads, writes, and now
   and then leaves by a jump. */
#include "check.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int zero, null;
static volatile sig_atomic_t signals, jumps;
static sigjmp_buf place;
static volatile sig_atomic_t may_jump;

static void handle(int number)
{
    (void)number;
    int error = errno;
    char byte;
    signals++;
    if (read(zero, &byte, 1) != 1 || write(null, &byte, 1) != 1)
        _exit(9);
    if (may_jump && signals % 8 == 0) {
        jumps++;
        siglongjmp(place, 1);
    }
    errno = error;
}

int main(void)
{
    zero = open("/dev/zero", O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    CHECK(zero >= 0 && null >= 0);
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval often = {{0, 100}, {0, 100}};
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);

    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    volatile long calls = 0;
    sigsetjmp(place, 1);
    may_jump = 1;
    do {
        char byte;
        CHECK(read(zero, &byte, 1) == 1);
        errno = 55;
        CHECK(write(null, &byte, 1) == 1 && errno == 55);
        calls++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9 < 0.2);
    may_jump = 0;
    struct itimerval never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);

    /* A jump out of a call that waits: the thread is not in it any more. */
    int ends[2];
    CHECK(pipe(ends) == 0);
    may_jump = 1;
    signals = 7;
    if (sigsetjmp(place, 1) == 0) {
        char byte;
        struct itimerval soon = {{0, 0}, {0, 20000}};
        CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        CHECK(read(ends[0], &byte, 1) == 1);
    }
    int again = open("/dev/zero", O_RDONLY);
    CHECK(again >= 0 && close(again) == 0);
    CHECK(calls > 100 && jumps > 1);
    return 0;
}
