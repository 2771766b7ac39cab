// fathomp: nodes refused calls fork
// A child forked before the first region uses OpenMP, as its parent does.
#include "check.h"
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(void)
{
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++)
            sum += i;
    }
    return sum;
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(work() == 4950 ? 0 : 1);
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
    CHECK_EQ(work(), 4950);
    printf("ok\n");
    return check_result();
}
