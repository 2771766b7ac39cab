// Variables that all threads update by atomic instructions, among others that are written
// plainly, on pages of every kind; and locks made of an exchange and a plain store.
#include "check.h"
#include <omp.h>
#include <stdint.h>

enum { ROUNDS = 16, UPDATES = 200, PAGES = 6, WORDS = 512 };

static int64_t counts[PAGES][WORDS] __attribute__((aligned(4096)));
static double sums[PAGES * WORDS];
static unsigned char bytes[4096];
static int64_t beside[64][8];

static int busy;
static int64_t guarded[3 * WORDS];

static unsigned next(unsigned *state)
{
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}

static void take(void)
{
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        ;
}

static void give_back(void)
{
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

int main(void)
{
    int64_t local = 0, *heap = malloc(PAGES * sizeof *counts);
    memset(heap, 0, PAGES * sizeof *counts);
    int threads = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        for (int round = 0; round < ROUNDS; round++) {
            unsigned state = (unsigned)(me + 31 * round);
            for (int i = 0; i < UPDATES; i++) {
                unsigned at = next(&state) % (PAGES * WORDS);
#pragma omp atomic
                counts[at / WORDS][at % WORDS] += i;
                __atomic_fetch_add(&heap[at % 64 * (PAGES * WORDS / 64)], 1, __ATOMIC_SEQ_CST);
                __atomic_fetch_xor(&bytes[at % sizeof bytes], (unsigned char)i, __ATOMIC_RELAXED);
                // Another thread writes the same page plainly.
                if (i % 16 == 0)
                    beside[me % 64][0] += i;
            }
            for (int i = 0; i < UPDATES / 8; i++) {
                unsigned at = next(&state) % (PAGES * WORDS);
#pragma omp atomic
                sums[at] += 0.5;
            }
#pragma omp atomic
            local++;
#pragma omp barrier
            int64_t count = 0;
            double sum = 0;
            for (int i = 0; i < PAGES * WORDS; i++)
                count += counts[i / WORDS][i % WORDS], sum += sums[i];
            CHECK_EQ(count, (int64_t)threads * (round + 1) * UPDATES * (UPDATES - 1) / 2);
            CHECK_EQ(sum * 2, (int64_t)threads * (round + 1) * (UPDATES / 8));
            int64_t more = 0;
            for (int i = 0; i < 64; i++)
                more += heap[i * (PAGES * WORDS / 64)];
            CHECK_EQ(more, (int64_t)threads * (round + 1) * UPDATES);
            CHECK_EQ(local, (int64_t)threads * (round + 1));
            // The next round's updates must not be among them.
#pragma omp barrier
            // One thread of each page writes it plainly between two rounds.
            for (int page = me; page < PAGES; page += threads)
                counts[page][0] += 1000, counts[page][1] -= 1000;
#pragma omp barrier
        }
        for (int round = 0; round < ROUNDS / 4; round++) {
            take();
            for (int i = 1; i < 3 * WORDS; i += 97)
                CHECK_EQ(guarded[i], guarded[0]);
            for (int i = 0; i < 3 * WORDS; i++)
                guarded[i]++;
            give_back();
        }
    }
    CHECK_EQ(guarded[0], (int64_t)threads * (ROUNDS / 4));
    CHECK_EQ(guarded[3 * WORDS - 1], (int64_t)threads * (ROUNDS / 4));
    int64_t mine = 0;
    for (int i = 0; i < 64; i++)
        mine += beside[i][0];
    printf("%lld\n", (long long)mine / threads);
    free(heap);
    return check_result();
}
