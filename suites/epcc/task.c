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

/* Each task waits for the one that its thread made before; if it did not, it would
 * undo that one's count. */
static long parallel_task_deps(long reps)
{
    long wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        long count = 0;
        for (long j = 0; j < reps; j++) {
#pragma omp task depend(inout : count) shared(count)
            {
                long made = count;
                delay(delay_length);
                count = made + 1;
            }
        }
#pragma omp taskwait
        wrong += count != reps;
    }
    return wrong;
}

static long master_task_deps(long reps)
{
    long count = 0;
#pragma omp parallel
#pragma omp master
    for (long j = 0; j < reps * threads; j++) {
#pragma omp task depend(inout : count)
        {
            long made = count;
            delay(delay_length);
            count = made + 1;
        }
    }
    return count != reps * threads;
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

/* A binary tree of tasks, all of which compute. */
static void branch_tree(long tasks)
{
    if (tasks == 0)
        return;
#pragma omp task
    {
        branch_tree((tasks - 1) / 2);
        branch_tree(tasks / 2);
        delay(delay_length);
    }
}

/* A binary tree of tasks that only make others, and of leaves that compute. */
static void leaf_tree(long leaves)
{
    if (leaves == 1) {
        delay(delay_length);
    } else {
#pragma omp task
        {
            leaf_tree(leaves / 2);
            leaf_tree(leaves - leaves / 2);
        }
    }
}

/* Every thread makes trees; a repetition is one delay in one of them. */
static long trees(void (*tree)(long), long reps)
{
    long before = delays();
#pragma omp parallel
    for (long left = reps; left > 0; left -= TREE_SIZE)
        tree(left < TREE_SIZE ? left : TREE_SIZE);
    return delays() - before != reps * threads;
}

static long branch_task_tree(long reps) { return trees(branch_tree, reps); }
static long leaf_task_tree(long reps) { return trees(leaf_tree, reps); }

static const struct row task_rows[] = {
    {.name = "PARALLEL TASK", .reference = reference_delay, .run = parallel_task},
    {.name = "PARALLEL TASK DEPS", .reference = reference_delay, .run = parallel_task_deps},
    {.name = "MASTER TASK", .reference = reference_delay, .run = master_task},
    {.name = "MASTER TASK DEPS", .reference = reference_delay, .run = master_task_deps},
    {.name = "MASTER TASK BUSY SLAVES", .reference = reference_delay, .run = master_task_busy},
    {.name = "CONDITIONAL TASK", .reference = reference_delay, .run = conditional_task},
    {.name = "TASK WAIT", .reference = reference_delay, .run = task_wait},
    {.name = "TASK GROUP", .reference = reference_delay, .run = task_group},
    {.name = "TASK BARRIER", .reference = reference_delay, .run = task_barrier},
    {.name = "NESTED TASK", .reference = reference_delay, .run = nested_task, .shared_out = 1},
    {.name = "NESTED MASTER TASK", .reference = reference_delay, .run = nested_master_task},
    {.name = "TASKLOOP", .reference = reference_delay, .run = taskloop},
    {.name = "BRANCH TASK TREE", .reference = reference_delay, .run = branch_task_tree},
    {.name = "LEAF TASK TREE", .reference = reference_delay, .run = leaf_task_tree},
    {.name = NULL},
};

ENTER_ROWS("task", task_rows);
