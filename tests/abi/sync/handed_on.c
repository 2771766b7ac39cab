// A token goes from thread to thread by atomic stores that release and loads that acquire, which
// are plain instructions, without any flush. Whoever has it sees what all before him have
// written, directly or through others.
#include "check.h"
#include <omp.h>
#include <stdatomic.h>

enum { ROUNDS = 60, THREADS = 8, WORDS = 700 };

static atomic_int turn;
static _Atomic(int *) parcel;
static int line[THREADS][WORDS], total[WORDS];

// Looks before the loop, in it, or behind it, as compilers like.
static void wait_first(int mine)
{
    while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
        ;
}

static int wait_last(int mine)
{
    int seen;
    do
        seen = atomic_load_explicit(&turn, memory_order_acquire);
    while (seen < mine);
    return seen;
}

static int *wait_for_parcel(void)
{
    int *found;
    while (!(found = atomic_load_explicit(&parcel, memory_order_acquire)))
        ;
    return found;
}

int main(void)
{
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        for (int round = 0; round < ROUNDS && me < THREADS; round++) {
            int members = threads < THREADS ? threads : THREADS;
            int mine = round * members + me;
            if (round % 2)
                wait_first(mine);
            else
                wrong += wait_last(mine) != mine;
            // Everybody's of this round who came before, and of the last one who comes after.
            for (int other = 0; other < members; other++)
                for (int i = 0; i < WORDS; i++)
                    wrong += line[other][i] != (other < me ? round + 1 : round) * (other + 1);
            for (int i = 0; i < WORDS; i++) {
                wrong += total[i] != mine;
                total[i]++;
                line[me][i] += me + 1;
            }
            atomic_store_explicit(&turn, mine + 1, memory_order_release);
        }
#pragma omp barrier
        for (int round = 0; round < ROUNDS && threads > 1; round++) {
            if (me == 0) {
                for (int i = 0; i < WORDS; i++)
                    line[0][i] = round;
                atomic_store_explicit(&parcel, line[0], memory_order_release);
            } else if (me == 1) {
                const int *found = wait_for_parcel();
                for (int i = 0; i < WORDS; i++)
                    wrong += found[i] != round;
                atomic_store_explicit(&parcel, 0, memory_order_relaxed);
            }
#pragma omp barrier
        }
    }
    CHECK_EQ(wrong, 0);
    printf("ok\n");
    return check_result();
}
