/* Explicit tasks. A repetition is one task per thread, so the reference is one
 * delay: what the team would need if handing out tasks were free. */
#include "epcc.h"
#include <stddef.h>

static volatile int never; /* 0; opaque to the compiler */

static long parallel_task(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp task
        delay(delay_length);
    }
    return 0;
}

static long master_task(long reps)
{
#pragma omp parallel
#pragma omp master
    for (long j = 0; j < reps * threads; j++) {
#pragma omp task
        delay(delay_length);
    }
    return 0;
}

static long master_task_busy(long reps)
{
#pragma omp parallel
    {
#pragma omp master
        for (long j = 0; j < reps; j++) {
#pragma omp task
            delay(delay_length);
        }
        for (long j = 0; j < reps; j++)
            delay(delay_length);
    }
    return 0;
}

static long conditional_task(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp task if (never)
        delay(delay_length);
    }
    return 0;
}

static long task_wait(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp task
        delay(delay_length);
#pragma omp taskwait
    }
    return 0;
}

static long task_group(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp taskgroup
        {
#pragma omp task
            delay(delay_length);
        }
    }
    return 0;
}

static long task_barrier(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp task
        delay(delay_length);
#pragma omp barrier
    }
    return 0;
}

static long nested_task(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps / threads; j++) {
#pragma omp task
        {
            for (int k = 0; k < threads; k++) {
#pragma omp task
                delay(delay_length);
            }
#pragma omp taskwait
        }
    }
    return 0;
}

static long nested_master_task(long reps)
{
#pragma omp parallel
#pragma omp master
    for (long j = 0; j < reps; j++) {
#pragma omp task
        {
            for (int k = 0; k < threads; k++) {
#pragma omp task
                delay(delay_length);
            }
#pragma omp taskwait
        }
    }
    return 0;
}

static long depend_chain(long reps)
{
    long count = 0;
#pragma omp parallel
#pragma omp master
    for (long j = 0; j < reps; j++) {
#pragma omp task depend(inout : count)
        {
            delay(delay_length);
            count++;
        }
    }
    return count != reps;
}

static long taskloop(long reps)
{
    long total = reps * threads;
#pragma omp parallel
#pragma omp master
    {
#pragma omp taskloop grainsize(1)
        for (long j = 0; j < total; j++)
            delay(delay_length);
    }
    return 0;
}

static void branch_tree(int depth)
{
    if (depth > 0) {
#pragma omp task
        {
            branch_tree(depth - 1);
            delay(delay_length);
        }
#pragma omp task
        {
            branch_tree(depth - 1);
            delay(delay_length);
        }
#pragma omp taskwait
    }
}

static long branch_task_tree(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++)
        branch_tree(TREE_DEPTH);
    return 0;
}

static void leaf_tree(int depth)
{
    if (depth == 0) {
        delay(delay_length);
    } else {
#pragma omp task
        leaf_tree(depth - 1);
#pragma omp task
        leaf_tree(depth - 1);
#pragma omp taskwait
    }
}

static long leaf_task_tree(long reps)
{
#pragma omp parallel
    for (long j = 0; j < reps; j++)
        leaf_tree(TREE_DEPTH);
    return 0;
}

const struct test task_tests[] = {
    {"PARALLEL TASK", REFERENCE_DELAY, parallel_task},
    {"MASTER TASK", REFERENCE_DELAY, master_task},
    {"MASTER TASK BUSY SLAVES", REFERENCE_DELAY, master_task_busy},
    {"CONDITIONAL TASK", REFERENCE_DELAY, conditional_task},
    {"TASK WAIT", REFERENCE_DELAY, task_wait},
    {"TASK GROUP", REFERENCE_DELAY, task_group},
    {"TASK BARRIER", REFERENCE_DELAY, task_barrier},
    {"NESTED TASK", REFERENCE_DELAY, nested_task},
    {"NESTED MASTER TASK", REFERENCE_DELAY, nested_master_task},
    {"TASK DEPEND", REFERENCE_DELAY, depend_chain},
    {"TASKLOOP", REFERENCE_DELAY, taskloop},
    {"BRANCH TASK TREE", REFERENCE_TREE, branch_task_tree},
    {"LEAF TASK TREE", REFERENCE_LEAVES, leaf_task_tree},
    {NULL, REFERENCE_DELAY, NULL},
};
