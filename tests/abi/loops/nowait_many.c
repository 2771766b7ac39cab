// Hundreds of loops without a barrier between them: threads may be many loops
// apart and must still find the right one.
#include "check.h"
#include <omp.h>

enum { LOOPS = 300, N = 37 };
static int seen[LOOPS][N];

int main(void)
{
#pragma omp parallel
    {
        for (int l = 0; l < LOOPS; l++) {
            if (omp_get_thread_num() == l % 5)
                for (volatile int spin = 0; spin < 2000; spin++)
                    ;
            if (l % 3 == 0) {
#pragma omp for schedule(dynamic) nowait
                for (int i = 0; i < N; i++)
                    __atomic_add_fetch(&seen[l][i], 1, __ATOMIC_RELAXED);
            } else if (l % 3 == 1) {
#pragma omp for schedule(guided, 2) nowait
                for (int i = 0; i < N; i++)
                    __atomic_add_fetch(&seen[l][i], 1, __ATOMIC_RELAXED);
            } else {
#pragma omp for schedule(monotonic : dynamic, 4) nowait
                for (int i = 0; i < N; i++)
                    __atomic_add_fetch(&seen[l][i], 1, __ATOMIC_RELAXED);
            }
        }
    }
    for (int l = 0; l < LOOPS; l++)
        for (int i = 0; i < N; i++)
            CHECK_EQ(seen[l][i], 1);
    printf("ok\n");
    return check_result();
}
