// Threads that work on a part of an array each, again and again, and only meet at a lock: now
// and then one reads another one's part, or writes into it, with the lock that protects it.
#include "check.h"
#include <omp.h>

enum { PARTS = 8, LENGTH = 3000, ROUNDS = 60 };

static long data[PARTS][LENGTH];
static omp_lock_t locks[PARTS];
static long rounds[PARTS], added[PARTS];

// All elements of a part are the same, whoever looks.
static long value_of(const long *part)
{
    for (int i = 1; i < LENGTH; i++)
        if (part[i] != part[0])
            return -1;
    return part[0];
}

int main(void)
{
    for (int part = 0; part < PARTS; part++) {
        omp_init_lock(&locks[part]);
        for (int i = 0; i < LENGTH; i++)
            data[part][i] = 1;
    }
    long torn = 0, back = 0;
#pragma omp parallel reduction(+ : torn, back)
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        long seen[PARTS] = {0};
        for (int round = 0; round < ROUNDS; round++) {
            for (int part = me; part < PARTS; part += threads) {
                omp_set_lock(&locks[part]);
                for (int i = 0; i < LENGTH; i++)
                    data[part][i]++;
                rounds[part]++;
                omp_unset_lock(&locks[part]);
            }
            if (round % 20 == 10 + me % 10) {
                int part = (me + 1) % PARTS;
                omp_set_lock(&locks[part]);
                long value = value_of(data[part]);
                torn += value != 1 + rounds[part] + added[part];
                back += value < seen[part];
                seen[part] = value;
                if (round < 40) {
                    for (int i = 0; i < LENGTH; i++)
                        data[part][i]++;
                    added[part]++;
                }
                omp_unset_lock(&locks[part]);
            }
        }
    }
    // Parts are what their rounds say, whoever holds their lock, and never go back.
    CHECK_EQ(torn, 0);
    CHECK_EQ(back, 0);
    int wrong = 0;
    for (int part = 0; part < PARTS; part++)
        wrong += rounds[part] != ROUNDS ||
                 value_of(data[part]) != 1 + rounds[part] + added[part];
    CHECK_EQ(wrong, 0);
    return check_result();
}
