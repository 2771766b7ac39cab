// fathomp: nodes refused calls fork
// fork inside a region, the child calls exec; the parent goes on.
#include "check.h"
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int codes = 0;
    fflush(NULL);
#pragma omp parallel num_threads(3) reduction(+ : codes)
    {
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
            _exit(99);
        }
        int status = -1;
        waitpid(child, &status, 0);
        codes += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
#pragma omp barrier
    }
    CHECK_EQ(codes, 21);
    CHECK_EQ(system("exit 3") >> 8, 3);
    printf("ok\n");
    return check_result();
}
