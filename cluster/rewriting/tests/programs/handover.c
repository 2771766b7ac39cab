// Two threads hand a number to and fro by plain loads and stores, and wait in several ways for
// it. Says how often they waited without a fence behind.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sched.h>

enum { ROUNDS = 300, WAYS = 6 };

static atomic_int turn;
static _Atomic(int *) pointer;
static volatile int looked;
static int parcel;

static void while_other(int mine)
{
    while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
        ;
}

static int until_mine(int mine)
{
    int seen;
    do
        seen = atomic_load_explicit(&turn, memory_order_acquire);
    while (seen < mine);
    return seen;
}

static void while_other_behind(const atomic_int *which, int mine)
{
    for (;;) {
        if (atomic_load_explicit(which, memory_order_relaxed) == mine)
            return;
        __builtin_ia32_pause();
    }
}

static void while_either(int mine)
{
    while (atomic_load_explicit(&turn, memory_order_acquire) < mine && !looked)
        ;
}

static void while_fenced(int mine)
{
    while (atomic_load_explicit(&turn, memory_order_relaxed) != mine)
        atomic_thread_fence(memory_order_seq_cst);
}

static void while_yielding(int mine)
{
    while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
        sched_yield();
}

static void *run(void *argument)
{
    int me = argument != 0;
    long wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int mine = 2 * round + me;
        switch (round % WAYS) {
        case 0: while_other(mine); break;
        case 1: wrong += until_mine(mine) != mine; break;
        case 2: while_other_behind(&turn, mine); break;
        case 3: while_either(mine); break;
        case 4: while_fenced(mine); break;
        case 5: while_yielding(mine); break;
        }
        wrong += parcel++ != mine;
        atomic_store_explicit(&turn, mine + 1, memory_order_release);
    }
    return (void *)wrong;
}

int main(void)
{
    pthread_t other;
    void *wrong;
    pthread_create(&other, 0, run, &other);
    long all = (long)run(0);
    pthread_join(other, &wrong);
    all += (long)wrong;
    printf("wrong %ld\nwaited %d\nturn %p\nlooked %p\n", all, 2 * ROUNDS, (void *)&turn,
           (void *)&looked);
    return all != 0;
}
