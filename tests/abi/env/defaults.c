// fathomp: nodes refused calls fork
// Without variables: as many threads as processors, the specification's ICVs.
#include "check.h"
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "inner") == 0) {
        omp_sched_t kind;
        int chunk;
        CHECK_EQ(omp_get_max_threads(), omp_get_num_procs());
        CHECK_EQ(omp_get_dynamic(), 0);
        CHECK_EQ(omp_get_max_active_levels(), 1);
        CHECK_EQ(omp_get_cancellation(), 0);
        omp_get_schedule(&kind, &chunk);
        // The specification leaves it open; each runtime has its own.
#ifdef __clang__
        CHECK_EQ(kind, omp_sched_static);
        CHECK_EQ(chunk, 0);
#else
        CHECK_EQ(kind & ~omp_sched_monotonic, omp_sched_dynamic);
        CHECK_EQ(chunk, 1);
#endif
        CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_false);
        CHECK_EQ(omp_get_num_places(), 0);
        CHECK_EQ(omp_get_place_num(), -1);
        return check_result();
    }
    unsetenv("OMP_NUM_THREADS");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        execl(argv[0], argv[0], "inner", (char *)NULL);
        _exit(99);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    printf("ok\n");
    return check_result();
}
