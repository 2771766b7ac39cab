// fathomp: nodes refused calls fork
// fathomp: libgomp its child waits for threads that the fork has not copied
// A child forked by the primary thread inside a region goes on alone: it forms
// inner teams, passes the region's barriers, leaves it, and forms new teams.
#include "check.h"
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

static int members(int threads)
{
    int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
    count++;
    return count;
}

int main(void)
{
    int status = -1;
    pid_t child = -1;
    omp_set_max_active_levels(2);
    fflush(NULL);
#pragma omp parallel num_threads(3)
    {
#pragma omp master
        {
            child = fork();
            if (child == 0 && members(2) != 2)
                _exit(2);
            if (child > 0)
                waitpid(child, &status, 0);
        }
#pragma omp barrier
    }
    CHECK_EQ(members(4), 4);
    if (child == 0)
        _exit(check_result() ? 3 : 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    printf("ok\n");
    return check_result();
}
