// Signals that are blocked but where the program waits for them, with all others blocked:
// handlers look at memory that all threads have written.
#define _GNU_SOURCE
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

enum { COUNT = 1 << 18, STRIDE = 512 };
static int written[COUNT];
static volatile long sum;

static void look(int signal)
{
    (void)signal;
    long found = 0;
    for (int i = 0; i < COUNT; i += STRIDE)
        found += written[i];
    sum = found;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = look;
    sigfillset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    sigset_t most;
    sigfillset(&most);
    sigprocmask(SIG_BLOCK, &most, NULL);
    sigdelset(&most, SIGALRM);
    for (int round = 1; round <= 6; round++) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            written[i] = round;
        struct itimerval soon = {{0, 0}, {0, 2000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        if (round % 2)
            sigsuspend(&most);
        else
            ppoll(NULL, 0, NULL, &most);
        CHECK_EQ(sum, (long)round * (COUNT / STRIDE));
    }
    printf("ok\n");
    return check_result();
}
