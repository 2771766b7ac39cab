// if, final, mergeable, untied, priority.
#include "check.h"
#include <omp.h>

int main(void)
{
    volatile int no = 0;
    CHECK_EQ(omp_get_max_task_priority(), 0);
#pragma omp parallel
#pragma omp single
    {
        int here = omp_get_thread_num(), done = 0;
        // An undeferred task runs at once, on this thread.
#pragma omp task if (no) shared(done)
        {
            CHECK_EQ(omp_get_thread_num(), here);
            done = 1;
        }
        CHECK_EQ(done, 1);
#pragma omp task if (no) shared(done)
        {
            // A child of an undeferred task may be deferred.
#pragma omp task shared(done)
            __atomic_store_n(&done, 2, __ATOMIC_RELAXED);
#pragma omp taskwait
        }
        CHECK_EQ(done, 2);
#pragma omp task final(1) shared(done)
        {
            int me = omp_get_thread_num(), inner = 0;
            CHECK_EQ(omp_in_final(), 1);
#pragma omp task shared(inner) firstprivate(me)
            {
                CHECK_EQ(omp_in_final(), 1);
                CHECK_EQ(omp_get_thread_num(), me);
                inner = 1;
            }
            CHECK_EQ(inner, 1);
            done = 3;
        }
#pragma omp taskwait
        CHECK_EQ(done, 3);
        for (int p = 0; p < 10; p++) {
#pragma omp task priority(p) untied mergeable shared(done)
            __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
        }
#pragma omp taskwait
        CHECK_EQ(done, 13);
        CHECK_EQ(omp_in_final(), 0);
    }
    printf("ok\n");
    return check_result();
}
