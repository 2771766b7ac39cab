/* The Fortran rows, and what Fortran asks of C. Each file's functions are weak,
 * so that a file can be left out. */
#include "epcc.h"
#include <stdatomic.h>

long delay_steps(void) { return delay_length; }
long iteration_steps(void) { return iteration_length; }
long team_size(void) { return threads; }
long iterations(void) { return ITERATIONS_PER_THREAD * (long)threads; }
long parameter_value(void) { return value[0]; }

static atomic_long wrong_copies;

void expect(double found, double wanted)
{
    if (found != wanted)
        atomic_fetch_add(&wrong_copies, 1);
}

long all_wrong(long before, long calls)
{
    return atomic_exchange(&wrong_copies, 0) + (delays() - before != calls);
}

/* Arrays in common blocks have constant sizes. */
static const char *is_power_of_3(void)
{
    for (long n = 1; n <= MAX_ARRAY_SIZE; n *= 3)
        if (n == value[0])
            return NULL;
    return "this row is there for powers of 3 up to 177147 only";
}

static double section_bytes(void) { return (double)value[0] * sizeof(double); }

#define WEAK(function) extern long function(long reps) __attribute__((weak))

WEAK(f_parallel);
WEAK(f_do);
WEAK(f_parallel_do);
WEAK(f_barrier);
WEAK(f_single);
WEAK(f_master);
WEAK(f_critical);
WEAK(f_lock);
WEAK(f_ordered);
WEAK(f_atomic);
WEAK(f_reduction);
WEAK(f_flush);

#define DELAYED(row_name, function) \
    {.name = row_name, .reference = reference_delay, .run = function}
#define SHARED_OUT(row_name, reference_work, function) \
    {.name = row_name, .reference = reference_work, .run = function, .shared_out = 1}

static const struct row fortran_sync_rows[] = {
    DELAYED("PARALLEL", f_parallel),
    DELAYED("DO", f_do),
    DELAYED("PARALLEL DO", f_parallel_do),
    DELAYED("BARRIER", f_barrier),
    DELAYED("SINGLE", f_single),
    DELAYED("MASTER", f_master),
    SHARED_OUT("CRITICAL", reference_delay, f_critical),
    SHARED_OUT("LOCK/UNLOCK", reference_delay, f_lock),
    DELAYED("ORDERED", f_ordered),
    SHARED_OUT("ATOMIC", reference_add, f_atomic),
    DELAYED("REDUCTION", f_reduction),
    DELAYED("FLUSH", f_flush),
    {.name = NULL},
};

ENTER_ROWS_OF("Fortran", "sync.f90", "sync", fortran_sync_rows);

WEAK(f_static);
WEAK(f_static_chunk);
WEAK(f_dynamic);
WEAK(f_dynamic_monotonic);
WEAK(f_guided);

#define CHUNKED(row_name, size, function) \
    {.name = row_name, .parameters = {&size}, .reference = reference_iterations, .run = function}

static const struct row fortran_sched_rows[] = {
    {.name = "STATIC", .reference = reference_iterations, .run = f_static},
    CHUNKED("STATIC", chunk, f_static_chunk),
    CHUNKED("DYNAMIC", chunk, f_dynamic),
    CHUNKED("DYNAMIC MONOTONIC", variant_chunk, f_dynamic_monotonic),
    CHUNKED("GUIDED", chunk, f_guided),
    {.name = NULL},
};

ENTER_ROWS_OF("Fortran", "sched.f90", "sched", fortran_sched_rows);

WEAK(f_parallel_task);
WEAK(f_master_task);
WEAK(f_task_wait);
WEAK(f_taskloop);

static const struct row fortran_task_rows[] = {
    DELAYED("PARALLEL TASK", f_parallel_task),
    DELAYED("MASTER TASK", f_master_task),
    DELAYED("TASK WAIT", f_task_wait),
    CHUNKED("TASKLOOP", chunk, f_taskloop),
    {.name = NULL},
};

ENTER_ROWS_OF("Fortran", "task.f90", "task", fortran_task_rows);

WEAK(f_private);
WEAK(f_firstprivate);
WEAK(f_copyprivate);
WEAK(f_array_reduction);

#define SIZED(row_name, check, function)                                               \
    {.name = row_name, .parameters = {&array_size}, .prepare = check,                  \
     .reference = reference_array, .run = function}

static const struct row fortran_array_rows[] = {
    SIZED("PRIVATE", NULL, f_private),
    SIZED("FIRSTPRIVATE", NULL, f_firstprivate),
    SIZED("COPYPRIVATE", NULL, f_copyprivate),
    SIZED("REDUCTION", NULL, f_array_reduction),
    {.name = NULL},
};

ENTER_ROWS_OF("Fortran", "array.f90", "array", fortran_array_rows);

WEAK(f_private_allocatable);
WEAK(f_firstprivate_allocatable);
WEAK(f_copyprivate_allocatable);
WEAK(f_reduction_allocatable);
WEAK(f_threadprivate_allocatable);
WEAK(f_copyin_allocatable);

static const struct row fortran_allocatable_rows[] = {
    SIZED("PRIVATE ALLOCATABLE", NULL, f_private_allocatable),
    SIZED("FIRSTPRIVATE ALLOCATABLE", NULL, f_firstprivate_allocatable),
    SIZED("COPYPRIVATE ALLOCATABLE", NULL, f_copyprivate_allocatable),
    SIZED("REDUCTION ALLOCATABLE", NULL, f_reduction_allocatable),
    SIZED("THREADPRIVATE ALLOCATABLE", NULL, f_threadprivate_allocatable),
    SIZED("COPYIN ALLOCATABLE", NULL, f_copyin_allocatable),
    {.name = NULL},
};

ENTER_ROWS_OF("Fortran", "allocatable.f90", "array", fortran_allocatable_rows);

WEAK(f_threadprivate_own_block);
WEAK(f_copyin_own_block);

static const struct row fortran_own_block_rows[] = {
    SIZED("THREADPRIVATE OWN BLOCK", is_power_of_3, f_threadprivate_own_block),
    SIZED("COPYIN OWN BLOCK", is_power_of_3, f_copyin_own_block),
    {.name = NULL},
};

ENTER_ROWS_OF("Fortran", "own_block.f90", "array", fortran_own_block_rows);

WEAK(f_threadprivate_one_block);
WEAK(f_copyin_one_block);

static const struct row fortran_one_block_rows[] = {
    SIZED("THREADPRIVATE ONE BLOCK", is_power_of_3, f_threadprivate_one_block),
    SIZED("COPYIN ONE BLOCK", is_power_of_3, f_copyin_one_block),
    {.name = NULL},
};

ENTER_ROWS_OF("Fortran", "one_block.f90", "array", fortran_one_block_rows);

WEAK(f_flush_section);
extern void f_change(long reps) __attribute__((weak));

static const struct row fortran_flush_rows[] = {
    {.name = "FLUSH", .parameters = {&array_size}, .reference = f_change,
     .run = f_flush_section, .bytes = section_bytes},
    {.name = NULL},
};

ENTER_ROWS_OF("Fortran", "flush.f90", "array", fortran_flush_rows);
