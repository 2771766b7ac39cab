// fathomp: nodes refused calls fork
// exit called by a thread inside a region ends the program with its code and
// flushes what was written.
#include "check.h"
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

static int leave(int who, int with_tasks)
{
    int pipes[2];
    char text[20] = "";
    if (pipe(pipes) != 0)
        return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], 1);
#pragma omp parallel
        {
            if (with_tasks) {
                for (int i = 0; i < 10; i++) {
#pragma omp task
                    usleep(100);
                }
            }
            if (omp_get_thread_num() == who % omp_get_num_threads()) {
                printf("bye");
                exit(9);
            }
#pragma omp barrier
        }
        _exit(1);
    }
    close(pipes[1]);
    ssize_t n = read(pipes[0], text, sizeof text - 1);
    CHECK_EQ(n, 3);
    CHECK(strcmp(text, "bye") == 0);
    close(pipes[0]);
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

int main(void)
{
    for (int who = 0; who < 3; who++) {
        CHECK_EQ(leave(who, 0), 9);
        CHECK_EQ(leave(who, 1), 9);
    }
    printf("ok\n");
    return check_result();
}
