// Tasks outside of any parallel region.
#include "check.h"
#include <omp.h>

static int order; // only its address matters, to depend clauses

int main(void)
{
    int count = 0;
    for (int i = 0; i < 100; i++) {
#pragma omp task shared(count)
        count++;
    }
#pragma omp taskwait
    CHECK_EQ(count, 100);
#pragma omp taskgroup
    {
#pragma omp task shared(count) depend(out : order)
        count++;
#pragma omp task shared(count) depend(in : order)
        count++;
    }
    CHECK_EQ(count, 102);
#pragma omp taskloop shared(count)
    for (int i = 0; i < 20; i++) {
#pragma omp atomic
        count++;
    }
    CHECK_EQ(count, 122);
#pragma omp taskyield
#pragma omp task final(1) shared(count)
    {
        CHECK_EQ(omp_in_final(), 1);
#pragma omp task shared(count)
        count++;
    }
#pragma omp taskwait
    CHECK_EQ(count, 123);
    CHECK_EQ(omp_in_final(), 0);
    printf("%d\n", count);
    return check_result();
}
