/* What programs made of tasks have in common: one thread creates the first task, all threads of
 * the region help. */
#ifndef FATHOMP_TASKS_H
#define FATHOMP_TASKS_H

#include "options.h"
#include "workload.h"
#include <stddef.h>

struct task_program {
    const char *name;
    const char *about;
    const char *parameter;    /* what the size is the number of */
    long set[DATA_SETS];
    const char *cutoff;       /* where no more tasks are created, in words */
    long cutoff_initial, cutoff_most;
    size_t (*bytes)(long size); /* on the heap; or NULL */
    void (*prepare)(long size); /* before each repetition; or NULL */
    void (*run)(long size, long cutoff);
    double (*checksum)(long size);
};

/* Each program defines its own. */
extern const struct task_program task_program;

#endif
