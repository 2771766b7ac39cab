// fathomp: nodes refused calls fork
// fathomp: libgomp hangs in a child that was forked after a region
// A child of fork may use OpenMP again, also when the parent has done so.
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
#pragma omp single
        for (int i = 0; i < 20; i++) {
#pragma omp task
            __atomic_add_fetch(&check_failures, 0, __ATOMIC_RELAXED);
        }
    }
    return sum;
}

static int child_code(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(work() == 4950 && omp_get_thread_num() == 0 && omp_get_num_threads() == 1 ? 0 : 1);
    int status = -1;
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

int main(void)
{
    // Before the first region, then between regions, then a child's child.
    CHECK_EQ(child_code(), 0);
    CHECK_EQ(work(), 4950);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(child_code(), 0);
        CHECK_EQ(work(), 4950);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int code = work() == 4950 ? 0 : 1;
        code += child_code();
        _exit(code);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(work(), 4950);
    printf("ok\n");
    return check_result();
}
