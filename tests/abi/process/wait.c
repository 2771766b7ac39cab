// Children of the program are those that it started: `wait` knows no others, and
// `SIGCHLD` tells of no others, whatever the runtime has started for itself.
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile sig_atomic_t told;

static void tell(int signal)
{
    (void)signal;
    told++;
}

static int work(void)
{
    int sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
    return sum;
}

int main(void)
{
    struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART};
    sigaction(SIGCHLD, &action, NULL);
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(work(), 4950);
        errno = 0;
        CHECK_EQ(wait(NULL), -1);
        CHECK_EQ(errno, ECHILD);
        char *arguments[] = {"sh", "-c", "exit 5", NULL};
        pid_t child = 0;
        CHECK_EQ(posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ), 0);
        int status = -1;
        CHECK_EQ(waitpid(-1, &status, 0), child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
        siginfo_t info;
        CHECK_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOHANG), -1);
        CHECK_EQ(errno, ECHILD);
        CHECK_EQ(waitpid(0, &status, WNOHANG), -1);
        CHECK_EQ(system("exit 6") >> 8, 6);
    }
    CHECK(told >= 3 && told <= 6);
    printf("ok\n");
    return check_result();
}
