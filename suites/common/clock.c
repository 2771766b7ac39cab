/* Clocks, and what they can be trusted with. */
#define _GNU_SOURCE
#include "clock.h"
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

static double read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double wall_ns(void) { return read_clock(CLOCK_MONOTONIC); }
double thread_cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
double team_cpu_ns(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

double clock_resolution_ns(void)
{
    double smallest = 1e300;
    for (int i = 0; i < 2000; i++) {
        double first = wall_ns(), second;
        do
            second = wall_ns();
        while (second == first);
        if (second - first < smallest)
            smallest = second - first;
    }
    /* A clock that moves with every reading may be finer than a reading takes:
     * then what the kernel claims is all there is to know. */
    struct timespec claim;
    clock_getres(CLOCK_MONOTONIC, &claim);
    double claimed = (double)claim.tv_sec * 1e9 + (double)claim.tv_nsec;
    return smallest <= 2.0 * clock_cost_ns() ? claimed : smallest;
}

static double cost_ns(double (*clock)(void))
{
    enum { BATCH = 100, TRIES = 50 };
    double best = 1e300;
    for (int i = 0; i < TRIES; i++) {
        double start = wall_ns();
        for (int k = 0; k < BATCH; k++)
            clock();
        double cost = (wall_ns() - start) / (BATCH + 1);
        if (cost < best)
            best = cost;
    }
    return best;
}

double clock_cost_ns(void) { return cost_ns(wall_ns); }
double cpu_clock_cost_ns(void) { return cost_ns(thread_cpu_ns); }

#if defined(__x86_64__)

double tsc_hz(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8)))
        return 0.0;
    /* Two readings taken together, the closest pair of a few tries, at both
     * ends of 20 ms. */
    double wall[2], ticks[2];
    for (int end = 0; end < 2; end++) {
        double narrowest = 1e300;
        double begin = end ? wall[0] + 20e6 : 0.0;
        for (int i = 0; i < 20;) {
            double before = wall_ns();
            double t = (double)__rdtsc();
            double after = wall_ns();
            if (before < begin)
                continue;
            if (after - before < narrowest) {
                narrowest = after - before;
                wall[end] = (before + after) / 2;
                ticks[end] = t;
            }
            i++;
        }
    }
    return (ticks[1] - ticks[0]) / (wall[1] - wall[0]) * 1e9;
}

double core_hz(void)
{
    enum { ADDITIONS = 16, ROUNDS = 20000, TRIES = 20 };
    double best = 1e300;
    for (int i = 0; i < TRIES; i++) {
        unsigned long x = (unsigned long)i;
        double start = wall_ns();
        for (int k = 0; k < ROUNDS; k++)
            /* Not `add $1`: processors may fold additions of constants. */
            __asm__ volatile(".rept 16\n\tadd %0, %0\n\t.endr" : "+r"(x));
        double time = wall_ns() - start;
        if (time < best)
            best = time;
    }
    return (double)ADDITIONS * ROUNDS / best * 1e9;
}

#else

double tsc_hz(void) { return 0.0; }
double core_hz(void) { return 0.0; }

#endif
