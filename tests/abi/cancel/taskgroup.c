// fathomp: env OMP_CANCELLATION=true
// cancel taskgroup: tasks not begun are dropped, the group still ends.
#include "check.h"
#include <omp.h>

static int began, order;

int main(void)
{
    for (int round = 0; round < 20; round++) {
        int after = 0;
        began = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskgroup
            {
                for (int i = 0; i < 50; i++) {
#pragma omp task depend(inout : order)
                    {
                        __atomic_add_fetch(&began, 1, __ATOMIC_RELAXED);
                        if (began == 5) {
#pragma omp cancel taskgroup
                            CHECK(!"reached");
                        }
#pragma omp cancellation point taskgroup
                    }
                }
            }
            CHECK(began >= 1 && began <= 50);
            CHECK_EQ(began, 5);
#pragma omp task shared(after)
            after = 1;
#pragma omp taskwait
        }
        CHECK_EQ(after, 1);
        // A group that follows is not cancelled.
        int count = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
        for (int i = 0; i < 30; i++) {
#pragma omp task shared(count)
            {
#pragma omp cancellation point taskgroup
                __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
            }
        }
        CHECK_EQ(count, 30);
    }
    printf("ok\n");
    return check_result();
}
