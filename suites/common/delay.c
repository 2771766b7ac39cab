/* Every thread counts its own calls, so that a construct that loses or repeats
 * work is found out. The price, one increment, is paid by the reference too. */
#include "delay.h"
#include "clock.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* On a cache line of its own; outlives its thread. */
struct counter {
    _Alignas(64) long calls;
    struct counter *next;
};

static _Atomic(struct counter *) counters;
static _Thread_local struct counter *mine;

static struct counter *new_counter(void)
{
    struct counter *counter = aligned_alloc(64, sizeof *counter);
    if (!counter) {
        fprintf(stderr, "there is not enough memory\n");
        abort();
    }
    counter->calls = 0;
    counter->next = atomic_load(&counters);
    while (!atomic_compare_exchange_weak(&counters, &counter->next, counter))
        ;
    return counter;
}

__attribute__((noinline)) void delay(long length)
{
    if (!mine)
        mine = new_counter();
    mine->calls++;
    for (long i = 0; i < length; i++)
        __asm__ volatile("" ::: "memory");
}

long delays(void)
{
    long sum = 0;
    for (const struct counter *c = atomic_load(&counters); c; c = c->next)
        sum += c->calls;
    return sum;
}

/* The fastest of many tries, because anything else on the machine only makes a
 * try slower. */
long calibrate_delay(double ns)
{
    double best = 1e300;
    const long length = 200000;
    for (int i = 0; i < 50; i++) {
        double start = wall_ns();
        delay(length);
        double time = wall_ns() - start;
        if (time < best)
            best = time;
    }
    long steps = (long)(ns * (double)length / best);
    return steps > 0 ? steps : 1;
}
