// One thread runs a single region; nowait; copyprivate hands its values on.
#include "check.h"
#include <omp.h>

struct thing {
    double values[64];
};

int main(void)
{
    int ran = 0;
    for (int round = 0; round < 100; round++) {
#pragma omp parallel
        {
            int got = -1;
            struct thing thing = {{0}};
#pragma omp single nowait
            __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
#pragma omp single copyprivate(got, thing)
            {
                got = round;
                for (int i = 0; i < 64; i++)
                    thing.values[i] = round + i;
            }
            CHECK_EQ(got, round);
            CHECK(thing.values[63] == round + 63);
#pragma omp single
            __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
            CHECK_EQ(__atomic_load_n(&ran, __ATOMIC_RELAXED), 2 * round + 2);
            // A thread must not run into the next round's count.
#pragma omp barrier
        }
    }
    CHECK_EQ(ran, 200);
    printf("ok\n");
    return check_result();
}
