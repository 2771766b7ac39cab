// A program that ends by exit within a region, or forks.
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long sum;

static void work(void)
{
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += omp_get_thread_num();
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    work();
    work();
    if (strcmp(how, "exit") == 0) {
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
#pragma omp master
            exit(7);
            // The others are there when it does.
            for (;;)
                pause();
        }
    }
    if (strcmp(how, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            // What a runtime can do in a child is its own affair: one thread can.
#pragma omp parallel num_threads(1)
            sum++;
            exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        work();
        return status;
    }
    return 0;
}
