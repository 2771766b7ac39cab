// fathomp: nodes refused calls fork
// A fatal signal inside a region ends the program by that signal.
#include "check.h"
#include <omp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int die(int how)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
#pragma omp parallel
        {
            if (omp_get_thread_num() == omp_get_num_threads() - 1) {
                if (how == SIGSEGV)
                    raise(SIGSEGV);
                else
                    abort();
            }
#pragma omp barrier
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

int main(void)
{
    CHECK_EQ(die(SIGSEGV), SIGSEGV);
    CHECK_EQ(die(SIGABRT), SIGABRT);
    printf("ok\n");
    return check_result();
}
