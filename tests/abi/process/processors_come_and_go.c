// fathomp: nodes skipped what changes is where the threads of one process may run
// While teams run, all threads are kept to one processor and let free again, as a cgroup does that
// shrinks and grows. `omp_get_num_procs` says what is left at the time.
#define _GNU_SOURCE
#include "check.h"
#include <dirent.h>
#include <omp.h>
#include <sched.h>

enum { CHANGES = 10, REGIONS = 5, ITERATIONS = 200, TASKS = 20 };

static void keep_all_threads_to(const cpu_set_t *mask)
{
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads != NULL);
    for (struct dirent *entry; threads != NULL && (entry = readdir(threads)) != NULL;)
        if (entry->d_name[0] != '.')
            // A thread may have ended meanwhile.
            sched_setaffinity(atoi(entry->d_name), sizeof *mask, mask);
    if (threads != NULL)
        closedir(threads);
}

static void region(void)
{
    int sum = 0, members = 0, tasks = 0;
#pragma omp parallel reduction(+ : sum, members)
    {
        members++;
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < ITERATIONS; i++)
            sum += i;
#pragma omp single
        for (int i = 0; i < TASKS; i++) {
#pragma omp task
#pragma omp atomic
            tasks++;
        }
#pragma omp barrier
#pragma omp parallel num_threads(2) reduction(+ : members)
        members += omp_get_num_threads() == 0;
    }
    CHECK_EQ(sum, ITERATIONS * (ITERATIONS - 1) / 2);
    CHECK_EQ(members, omp_get_max_threads());
    CHECK_EQ(tasks, TASKS);
}

int main(void)
{
    cpu_set_t all, one;
    int first = 0;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    omp_set_max_active_levels(2);
    for (int change = 0; change < CHANGES; change++) {
        const cpu_set_t *left = change % 2 == 0 ? &one : &all;
        keep_all_threads_to(left);
        CHECK_EQ(omp_get_num_procs(), CPU_COUNT(left));
        for (int i = 0; i < REGIONS; i++)
            region();
    }
    printf("ok\n");
    return check_result();
}
