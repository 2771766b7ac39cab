// posix_spawn, popen and system from inside regions.
#include "check.h"
#include <omp.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(void)
{
    int good = 0;
#pragma omp parallel num_threads(4) reduction(+ : good)
    {
        char *argv[] = {"sh", "-c", "exit 5", NULL};
        pid_t child;
        int status = 0;
        if (posix_spawn(&child, "/bin/sh", NULL, NULL, argv, environ) == 0) {
            waitpid(child, &status, 0);
            good += WIFEXITED(status) && WEXITSTATUS(status) == 5;
        }
#pragma omp critical
        {
            char text[10] = "";
            FILE *pipe = popen("echo hi", "r");
            if (pipe) {
                if (!fgets(text, sizeof text, pipe))
                    text[0] = '\0';
                pclose(pipe);
            }
            good += strcmp(text, "hi\n") == 0;
        }
    }
    CHECK_EQ(good, 8);
    printf("ok\n");
    return check_result();
}
