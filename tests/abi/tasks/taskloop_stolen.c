// fathomp: nodes skipped a task that waits for others in a loop holds up those of its node
// fathomp: libgomp leaves a thread asleep that could run the tasks, now and then
// Tasks of a taskloop that have not begun run on other threads while one of them takes long.
#include "check.h"
#include <omp.h>
#include <sched.h>

// Few enough for all runtimes to make tasks of them.
enum { TASKS = 60 };

static int others;

static void wait_for_others(void)
{
    while (__atomic_load_n(&others, __ATOMIC_ACQUIRE) < TASKS - 1)
        sched_yield();
}

// The task at `slow` ends only when all others have run.
static void loop_with_slow_task(int slow)
{
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < TASKS; i++) {
        if (i == slow)
            wait_for_others();
        else
            __atomic_add_fetch(&others, 1, __ATOMIC_ACQ_REL);
    }
    CHECK_EQ(others, TASKS - 1);
    others = 0;
}

int main(void)
{
    // With one thread there is nobody else.
    if (omp_get_max_threads() > 1 && omp_get_num_procs() > 1) {
#pragma omp parallel
#pragma omp single
        for (int slow = 0; slow < TASKS; slow += 7)
            loop_with_slow_task(slow);

        // The same of a loop inside a task of another one.
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 2; i++)
            if (i == 0)
                loop_with_slow_task(0);

        // And of one that a task of its own runs.
#pragma omp parallel
#pragma omp single
        {
#pragma omp task
            loop_with_slow_task(TASKS / 2);
#pragma omp taskwait
        }
    }
    printf("ok\n");
    return check_result();
}
