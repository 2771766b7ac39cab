// fathomp: env OMP_PLACES=threads
// fathomp: clang programs start the runtime at their first call, and LLVM's counts processors then
// fathomp: nodes skipped threads on several nodes are not counted by processors
// The first thread that uses OpenMP is bound to one processor: the program still has all that it
// was started with.
#define _GNU_SOURCE
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static void *pinned(void *count)
{
    cpu_set_t mask;
    int last = -1;
    CHECK_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask))
            last = cpu;
    CPU_ZERO(&mask);
    CPU_SET(last, &mask);
    CHECK_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    CHECK_EQ(omp_get_max_threads(), *(int *)count);
    CHECK_EQ(omp_get_num_places(), *(int *)count);
    return NULL;
}

int main(int argc, char **argv)
{
    // By the number of processors alone.
    if (getenv("OMP_NUM_THREADS")) {
        unsetenv("OMP_NUM_THREADS");
        execv("/proc/self/exe", argv);
        return 1;
    }
    (void)argc;
    cpu_set_t mask;
    pthread_t thread;
    CHECK_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    int count = CPU_COUNT(&mask), members = 0;
    CHECK_EQ(pthread_create(&thread, NULL, pinned, &count), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
#pragma omp parallel reduction(+ : members)
    members++;
    CHECK_EQ(members, count);
    CHECK_EQ(omp_get_num_procs(), count);
    printf("ok\n");
    return check_result();
}
