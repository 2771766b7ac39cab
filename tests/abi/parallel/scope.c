// fathomp: clang 14 does not know the construct
// The scope construct: reductions and privates without sharing work.
#include "check.h"
#include <omp.h>

int main(void)
{
    int sum = 0, tasks = 0;
#pragma omp parallel
    {
#pragma omp scope reduction(+ : sum)
        sum += omp_get_thread_num() + 1;
        CHECK_EQ(sum, omp_get_num_threads() * (omp_get_num_threads() + 1) / 2);
#pragma omp barrier
#pragma omp scope reduction(task, + : tasks)
        {
#pragma omp task in_reduction(+ : tasks)
            tasks += 2;
        }
        CHECK_EQ(tasks, 2 * omp_get_num_threads());
#pragma omp scope nowait
        CHECK(omp_get_thread_num() >= 0);
    }
    printf("ok\n");
    return check_result();
}
