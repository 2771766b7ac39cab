/* Explicit tasks. A repetition is one task per thread, so the reference is one
 * delay: what the team would need if handing out tasks were free. */
#include "epcc.h"

#ifdef __clang__
/* clang compares taskloop's own unsigned variables with the program's. */
#pragma clang diagnostic ignored "-Wsign-compare"
#endif

static volatile int never; /* 0; opaque to the compiler */

static long parallel_task(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp task
        delay(delay_length);
    }
    return delays() - before != reps * threads;
}

static long master_task(long reps)
{
    long before = delays();
#pragma omp parallel
#pragma omp master
    for (long j = 0; j < reps * threads; j++) {
#pragma omp task
        delay(delay_length);
    }
    return delays() - before != reps * threads;
}

static long master_task_busy(long reps)
{
    long before = delays();
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
    return delays() - before != reps * (threads + 1);
}

static long conditional_task(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp task if (never)
        delay(delay_length);
    }
    return delays() - before != reps * threads;
}

static long task_wait(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp task
        delay(delay_length);
#pragma omp taskwait
    }
    return delays() - before != reps * threads;
}

static long task_group(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp taskgroup
        {
#pragma omp task
            delay(delay_length);
        }
    }
    return delays() - before != reps * threads;
}

static long task_barrier(long reps)
{
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++) {
#pragma omp task
        delay(delay_length);
#pragma omp barrier
    }
    return delays() - before != reps * threads;
}

static long nested_task(long reps)
{
    long before = delays();
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
    return delays() - before != reps * threads;
}

static long nested_master_task(long reps)
{
    long before = delays();
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
    return delays() - before != reps * threads;
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
    long before = delays();
    long total = reps * threads;
#pragma omp parallel
#pragma omp master
    {
#pragma omp taskloop grainsize(1)
        for (long j = 0; j < total; j++)
            delay(delay_length);
    }
    return delays() - before != total;
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
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++)
        branch_tree(TREE_DEPTH);
    return delays() - before != reps * threads * ((2L << TREE_DEPTH) - 2);
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
    long before = delays();
#pragma omp parallel
    for (long j = 0; j < reps; j++)
        leaf_tree(TREE_DEPTH);
    return delays() - before != reps * threads * (1L << TREE_DEPTH);
}

static const struct row task_rows[] = {
    {.name = "PARALLEL TASK", .reference = reference_delay, .run = parallel_task},
    {.name = "MASTER TASK", .reference = reference_delay, .run = master_task},
    {.name = "MASTER TASK BUSY SLAVES", .reference = reference_delay, .run = master_task_busy},
    {.name = "CONDITIONAL TASK", .reference = reference_delay, .run = conditional_task},
    {.name = "TASK WAIT", .reference = reference_delay, .run = task_wait},
    {.name = "TASK GROUP", .reference = reference_delay, .run = task_group},
    {.name = "TASK BARRIER", .reference = reference_delay, .run = task_barrier},
    {.name = "NESTED TASK", .reference = reference_delay, .run = nested_task, .shared_out = 1},
    {.name = "NESTED MASTER TASK", .reference = reference_delay, .run = nested_master_task},
    {.name = "TASK DEPEND", .reference = reference_delay, .run = depend_chain},
    {.name = "TASKLOOP", .reference = reference_delay, .run = taskloop},
    {.name = "BRANCH TASK TREE", .reference = reference_tree, .run = branch_task_tree},
    {.name = "LEAF TASK TREE", .reference = reference_leaves, .run = leaf_task_tree},
    {.name = NULL},
};

ENTER_ROWS("task", task_rows);
