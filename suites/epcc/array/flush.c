/* Flush after each thread has written its own section of n doubles, or used it in a delay. */
#include "epcc.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Sections begin on pages: what is measured is the flush, not false sharing,
 * which is MCBENCH's subject. */
#define PAGE 4096

static char *sections;
static size_t section_bytes;

static const char *provide_sections(void)
{
    free(sections);
    section_bytes = ((size_t)value[0] * sizeof(double) + PAGE - 1) / PAGE * PAGE;
    sections = aligned_alloc(PAGE, section_bytes * (size_t)threads);
    if (!sections)
        return "there is not enough memory";
    memset(sections, 0, section_bytes * (size_t)threads);
    return NULL;
}

static double *section(int thread)
{
    return (double *)(void *)(sections + section_bytes * (size_t)thread);
}

static void reference_change(long reps)
{
    for (long j = 0; j < reps; j++)
        change(section(0), value[0]);
}

static long flush_section(long reps)
{
    long n = value[0], wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        double *mine = section(omp_get_thread_num());
        double before = mine[n - 1];
        for (long j = 0; j < reps; j++) {
            change(mine, n);
#pragma omp flush
        }
        wrong += mine[n - 1] != before + (double)reps;
    }
    return wrong;
}

/* As published: the delay uses the section, of which hardly anything changes. */
static long flush_after_delay(long reps)
{
    long before = delays();
#pragma omp parallel
    {
        double *mine = section(omp_get_thread_num());
        for (long j = 0; j < reps; j++) {
            array_delay(mine);
#pragma omp flush
        }
    }
    return delays() - before != reps * threads;
}

static double section_size(void) { return (double)value[0] * sizeof(double); }

static const struct row flush_rows[] = {
    {.name = "FLUSH", .parameters = {&array_size}, .prepare = provide_sections,
     .reference = reference_change, .run = flush_section, .bytes = section_size},
    {.name = "FLUSH DELAYED", .parameters = {&array_size}, .prepare = provide_sections,
     .reference = reference_array, .run = flush_after_delay, .bytes = section_size},
    {.name = NULL},
};

ENTER_ROWS("array", flush_rows);
