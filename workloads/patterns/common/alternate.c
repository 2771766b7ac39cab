#include "alternate.h"
#include "work.h"

enum { SERIAL_PERCENT };
enum { CHUNK_WORDS = 64, WORK_STEPS = 32 };

static size_t chunks;
static uint64_t *array;

size_t alternate_shape(const struct pattern_plan *plan)
{
    chunks = plan->bytes / (CHUNK_WORDS * sizeof *array);
    return chunks * CHUNK_WORDS * sizeof *array;
}

static size_t serial_chunks(const struct pattern_plan *plan)
{
    return (size_t)((double)chunks * (double)plan->value[SERIAL_PERCENT] / 100.0);
}

void alternate_prepare(const struct pattern_plan *plan)
{
    (void)plan;
    array = workload_allocate(chunks * CHUNK_WORDS * sizeof *array);
#pragma omp parallel for
    for (size_t i = 0; i < chunks * CHUNK_WORDS; i++)
        array[i] = i;
}

void alternate_parallel(void)
{
#pragma omp parallel for
    for (size_t chunk = 0; chunk < chunks; chunk++)
        work_do(array + chunk * CHUNK_WORDS, CHUNK_WORDS, WORK_STEPS);
}

void alternate_serial(const struct pattern_plan *plan)
{
    work_do(array, serial_chunks(plan) * CHUNK_WORDS, WORK_STEPS);
}

/* A multiplication and an addition in each step. */
double alternate_operations(const struct pattern_plan *plan)
{
    return 2.0 * WORK_STEPS * CHUNK_WORDS * (double)(chunks + serial_chunks(plan));
}

bool alternate_check(const struct pattern_plan *plan)
{
    struct work once = work_of((uint64_t)plan->repeat * WORK_STEPS);
    struct work twice = work_of(2 * (uint64_t)plan->repeat * WORK_STEPS);
    for (size_t i = 0; i < chunks * CHUNK_WORDS; i++) {
        struct work done = i < serial_chunks(plan) * CHUNK_WORDS ? twice : once;
        if (array[i] != done.factor * i + done.addend)
            return false;
    }
    return true;
}
