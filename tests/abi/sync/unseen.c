// Atomic updates of which the program does not look at the result: of integers and of numbers
// in floating point, between plain accesses of the same thread, before a lock is given back,
// before a task ends, and before all threads meet. Sums are exact in any order.
#include "check.h"
#include <omp.h>

enum { N = 600, ROUNDS = 3, OWN = 64, HITS = 40 };

static double sums[N];
static float halves[N];
static long counts[N];
static unsigned char bytes[N];
static double own[OWN][512];
static double guarded;
static long told, data;

static void rounds(int round)
{
#pragma omp for nowait
    for (int i = 0; i < N; i++)
        for (int k = 1; k < 4; k++) {
            int j = (i + k * 37) % N;
#pragma omp atomic
            sums[j] += k * 0.25;
#pragma omp atomic
            sums[j] -= 0.125;
#pragma omp atomic
            halves[j] += 0.5f;
#pragma omp atomic
            counts[j] += k;
#pragma omp atomic
            bytes[j]++;
        }
    // What a thread has updated it sees, and what it writes comes after it.
    double *mine = own[omp_get_thread_num() % OWN];
    for (int i = 0; i < 512; i++) {
#pragma omp atomic
        mine[i] += 1.5;
        CHECK(mine[i] == 1.5 * (i % 3 ? round + 1 : 1));
        if (i % 3 == 0) {
            mine[i] = 7;
#pragma omp atomic
            mine[i] *= 2;
            CHECK(mine[i] == 14);
            mine[i] = 0;
        }
    }
    for (int i = 0; i < HITS; i++) {
#pragma omp critical(guard)
        {
            double before = guarded;
#pragma omp atomic
            guarded += 0.5;
            CHECK(guarded == before + 0.5);
        }
    }
#pragma omp barrier
}

static void look(int round)
{
    for (int j = 0; j < N; j++) {
        CHECK(sums[j] == (6 * 0.25 - 3 * 0.125) * (round + 1));
        CHECK(halves[j] == 1.5f * (round + 1));
        CHECK(counts[j] == 6 * (round + 1));
        CHECK(bytes[j] == (unsigned char)(3 * (round + 1)));
    }
}

int main(void)
{
#pragma omp parallel
    {
        for (int round = 0; round < ROUNDS; round++) {
            rounds(round);
            look(round);
#pragma omp single
            CHECK(guarded == 0.5 * HITS * omp_get_num_threads() * (round + 1));
        }
#pragma omp single
        {
            for (int i = 0; i < 200; i++) {
#pragma omp task
                {
#pragma omp atomic
                    sums[i % 10] += 1;
                }
            }
#pragma omp taskwait
            double all = 0;
            for (int i = 0; i < 10; i++)
                all += sums[i] - (6 * 0.25 - 3 * 0.125) * ROUNDS;
            CHECK(all == 200);
        }
    }
    // One thread tells by an update, the others poll for it.
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            data = 42;
#pragma omp flush
#pragma omp atomic
            told += 1;
        } else {
            long seen;
            do {
#pragma omp atomic capture
                seen = told += 0;
            } while (seen == 0);
#pragma omp flush
            CHECK(data == 42);
        }
    }
    printf("%ld %g\n", counts[17], sums[N - 1]);
    return check_result();
}
