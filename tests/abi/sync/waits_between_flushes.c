// A pipeline as LU of the NPB has it in some versions: each thread waits for its neighbours'
// flags, flushing in between, and flushes neither after it has seen them nor before it sets
// its own. That is a race, but on one machine it works.
#include "check.h"
#include <omp.h>

enum { THREADS = 8, PLANES = 12, SWEEPS = 4, ROW = 1500 };
static int done[THREADS];
static double rows[PLANES][THREADS][ROW];

static void wait_for(const int *flag, int value)
{
    while (*flag != value) {
#pragma omp flush
    }
}

int main(void)
{
    int threads = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads() < THREADS ? omp_get_num_threads() : THREADS;
        for (int sweep = 0; sweep < SWEEPS && me < threads; sweep++)
            for (int k = 0; k < PLANES; k++) {
                if (me > 0)
                    wait_for(&done[me - 1], 1);
                if (me < threads - 1)
                    wait_for(&done[me], 0);
                for (int i = 0; i < ROW; i++)
                    rows[k][me][i] += 1 + (me > 0 ? rows[k][me - 1][ROW - 1 - i] : 0);
                if (me < threads - 1)
                    done[me] = 1;
                if (me > 0)
                    done[me - 1] = 0;
            }
    }
    double expected[THREADS] = {0};
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int me = 0; me < threads; me++)
            expected[me] += 1 + (me > 0 ? expected[me - 1] : 0);
    int wrong = 0;
    for (int k = 0; k < PLANES; k++)
        for (int me = 0; me < threads; me++)
            for (int i = 0; i < ROW; i++)
                wrong += rows[k][me][i] != expected[me];
    CHECK_EQ(wrong, 0);
    printf("ok\n");
    return check_result();
}
