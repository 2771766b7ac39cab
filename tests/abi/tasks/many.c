// fathomp: clang refuses a reduction variable in a task
// Far more tasks than any queue has room for.
#include "check.h"
#include <omp.h>

int main(void)
{
    long count = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 200000; i++) {
#pragma omp task untied
        __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(count, 200000);
#pragma omp parallel reduction(+ : count)
    for (int i = 0; i < 20000; i++) {
#pragma omp task mergeable
        __atomic_add_fetch(&count, 0, __ATOMIC_RELAXED);
        count++;
    }
    CHECK_EQ(count, 200000 + 20000L * omp_get_max_threads());
    printf("%ld\n", count);
    return check_result();
}
