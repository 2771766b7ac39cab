// fathomp: libgomp 12 has no taskwait that does not wait (gcc 13 and OpenMP 5.2 have it)
// A taskwait with depend and nowait orders tasks and makes nobody wait.
#include "check.h"
#include <omp.h>
#include <time.h>

extern void GOMP_taskwait_depend_nowait(void **) __attribute__((weak));

static void sleep_a_while(void)
{
    struct timespec while_ = {0, 2000000};
    nanosleep(&while_, 0);
}

int main(void)
{
    if (!GOMP_taskwait_depend_nowait) {
        printf("not there\n");
        return 1;
    }
    for (int round = 0; round < 20; round++) {
        int x = 0, y = 0, seen = -1;
#pragma omp parallel
#pragma omp single
        {
#pragma omp task depend(out : x) shared(x)
            {
                sleep_a_while();
                __atomic_store_n(&x, 1, __ATOMIC_RELAXED);
            }
            // As gcc 13 makes it of "taskwait depend(in: x) depend(out: y) nowait".
            void *depend[] = {0, (void *)2, (void *)1, 0, (void *)1, &y, &x};
            GOMP_taskwait_depend_nowait(depend);
#pragma omp task depend(in : y) shared(x, seen)
            seen = __atomic_load_n(&x, __ATOMIC_RELAXED);
#pragma omp taskwait
        }
        CHECK_EQ(seen, 1);
    }
    printf("ok\n");
    return check_result();
}
