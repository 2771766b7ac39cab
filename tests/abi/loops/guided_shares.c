// Guided chunks are even shares of what is left, whoever asks and wherever.
#include "calls.h"
#include "check.h"
#include <omp.h>

enum { N = 3000 };
/* By the first iteration of each chunk, how many it has. */
static long length[N];

static void shares(long count, long chunk, bool monotonic)
{
    int threads = 1;
#pragma omp parallel
    {
        long from, to;
#pragma omp single
        threads = omp_get_num_threads();
        bool more = monotonic ? GOMP_loop_guided_start(0, count, 1, chunk, &from, &to)
                              : GOMP_loop_nonmonotonic_guided_start(0, count, 1, chunk, &from, &to);
        while (more) {
            length[from] = to - from;
            more = monotonic ? GOMP_loop_guided_next(&from, &to)
                             : GOMP_loop_nonmonotonic_guided_next(&from, &to);
        }
        GOMP_loop_end();
    }
    for (long at = 0; at < count; at += length[at]) {
        long left = count - at, share = (left + threads - 1) / threads;
        if (share < chunk)
            share = chunk < left ? chunk : left;
        CHECK_EQ(length[at], share);
        if (length[at] < 1)
            return;
    }
}

int main(void)
{
    for (int monotonic = 0; monotonic < 2; monotonic++) {
        shares(1000, 1, monotonic);
        shares(3000, 7, monotonic);
        shares(2, 1, monotonic);
        shares(50, 60, monotonic);
    }
    return check_result();
}
