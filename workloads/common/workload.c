#define _POSIX_C_SOURCE 200809L
#include "workload.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define PAGE_BYTES 4096

double workload_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int workload_threads(void)
{
    int threads = 1;
#ifdef _OPENMP
#pragma omp parallel
    {
#pragma omp single
        threads = omp_get_num_threads();
    }
#endif
    return threads;
}

void workload_describe(const char *name, const char *size, size_t heap_bytes)
{
    printf("{\"workload\":\"%s\",\"size\":\"%s\",\"heap_bytes\":%zu}\n", name, size, heap_bytes);
}

void workload_fixed_arguments(int argc, char **argv, const char *name, const char *size,
                              size_t heap_bytes)
{
    if (argc == 1)
        return;
    if (argc == 2 && strcmp(argv[1], "--describe") == 0) {
        workload_describe(name, size, heap_bytes);
        exit(0);
    }
    fprintf(stderr, "%s: takes no argument but --describe; size %s was chosen when it was built\n",
            name, size);
    exit(2);
}

void *workload_allocate(size_t bytes)
{
    /* calloc leaves large blocks untouched, so that pages go to the thread (or
     * the node) that touches them first. Never freed: no need to keep the
     * unaligned start. */
    char *memory = bytes <= SIZE_MAX - PAGE_BYTES ? calloc(1, bytes + PAGE_BYTES) : NULL;
    if (memory == NULL) {
        fprintf(stderr, "cannot allocate %zu bytes: choose a smaller size\n", bytes);
        exit(2);
    }
    return memory + (PAGE_BYTES - (uintptr_t)memory % PAGE_BYTES) % PAGE_BYTES;
}

/* A number, or null where JSON has none. */
static void print_number(const char *key, double value)
{
    if (isfinite(value))
        printf(",\"%s\":%.17g", key, value);
    else
        printf(",\"%s\":null", key);
}

int workload_finish(const struct workload_result *r)
{
    static const char *const words[] = {"WRONG", "right", "not checked"};
    static const char *const json[] = {"false", "true", "null"};
    int threads = workload_threads();
    double mops = r->operations > 0.0 && r->seconds > 0.0 ? 1e-6 * r->operations / r->seconds : NAN;

    printf("%s %s, size %s: %ld iterations in %.6f s with %d thread%s\n", r->suite, r->name,
           r->size, r->iterations, r->seconds, threads, threads == 1 ? "" : "s");
    if (isfinite(mops))
        printf("speed %.2f Mop/s (%s)\n", mops, r->unit);
    printf("result %s\n", words[r->verdict]);

    printf("{\"suite\":\"%s\",\"workload\":\"%s\",\"size\":\"%s\",\"threads\":%d,\"iterations\":%ld",
           r->suite, r->name, r->size, threads, r->iterations);
    print_number("seconds", r->seconds);
    print_number("mops_per_s", mops);
    print_number("checksum", r->checksum);
    printf(",\"verified\":%s}\n", json[r->verdict]);
    /* A full disk must not pass for success. */
    if (fflush(stdout) != 0) {
        perror("cannot print the result");
        return 2;
    }
    return r->verdict == WORKLOAD_WRONG;
}
