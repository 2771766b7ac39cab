// fathomp: env OMP_STACKSIZE=16M
// Threads get the stack that OMP_STACKSIZE asks for.
#include "check.h"
#include <omp.h>

static long use(int depth)
{
    volatile char frame[64 * 1024];
    frame[0] = (char)depth;
    frame[sizeof frame - 1] = 1;
    return depth ? use(depth - 1) + frame[sizeof frame - 1] : frame[0];
}

int main(void)
{
    long sum = 0;
    // 100 frames of 64 KiB: 6.4 MiB. The initial thread's stack is the
    // shell's business, so it does not take part.
#pragma omp parallel reduction(+ : sum)
    if (omp_get_thread_num() != 0)
        sum += use(100);
    CHECK_EQ(sum, 100L * (omp_get_max_threads() - 1));
    printf("ok\n");
    return check_result();
}
