// Atomic instructions of each kind and size on words that all threads change, and doubles in
// loops of compare and exchange, with plain writes beside them: nodes that do not share memory
// have them done by the home of the page. No exchange and no loop that waits: then they would
// not.
#include "check.h"
#include <omp.h>
#include <stdint.h>

enum { ROUNDS = 30, WORDS = 1536 };

static int64_t counts[WORDS];
static double sums[WORDS];
static uint8_t bytes[WORDS];
static uint16_t halves[WORDS];
static uint32_t bits[WORDS];
static int64_t plain[64][64];

int main(void)
{
    int threads = 0;
    int64_t local = 0, tickets = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = round % 3; i < WORDS; i += 61) {
                int64_t mine;
                int at = (i + me * 17) % WORDS;
                // What is written before is seen by who takes the next ticket.
                plain[me % 64][round % 64] = round + 1;
#pragma omp atomic
                counts[at] += i;
#pragma omp atomic
                counts[at] -= 1;
#pragma omp atomic
                sums[at] += 0.25;
#pragma omp atomic
                bytes[at]++;
#pragma omp atomic
                halves[at] += 3;
#pragma omp atomic
                bits[at] ^= 1u << (round % 31);
#pragma omp atomic
                local += 1;
#pragma omp atomic capture
                mine = tickets++;
                CHECK(mine >= 0);
            }
            if (round % 8 == 7) {
#pragma omp barrier
                // Known to all by now: the page may have moved.
                CHECK_EQ(plain[(me + 1) % threads % 64][round % 64], round + 1);
#pragma omp barrier
            }
        }
    }
    int64_t count = 0, expected = 0, each = 0, byte = 0, half = 0;
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = round % 3; i < WORDS; i += 61)
            expected += i - 1, each++;
    for (int i = 0; i < WORDS; i++) {
        count += counts[i];
        sum += sums[i];
        byte += bytes[i];
        half += halves[i];
    }
    CHECK_EQ(count, expected * threads);
    CHECK(sum == 0.25 * (double)(each * threads));
    CHECK_EQ(byte, each * threads);
    CHECK_EQ(half, 3 * each * threads);
    CHECK_EQ(local, each * threads);
    CHECK_EQ(tickets, each * threads);
    printf("%lld\n", (long long)each);
    return check_result();
}
