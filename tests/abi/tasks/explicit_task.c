// fathomp: libgomp lacks omp_in_explicit_task
// omp_in_explicit_task, which newer programs call.
#include "check.h"
#include <omp.h>

extern int omp_in_explicit_task(void) __attribute__((weak));

int main(void)
{
    CHECK(omp_in_explicit_task != NULL);
    if (!omp_in_explicit_task)
        return check_result();
    CHECK_EQ(omp_in_explicit_task(), 0);
#pragma omp parallel
    {
        CHECK_EQ(omp_in_explicit_task(), 0);
#pragma omp task
        {
            CHECK_EQ(omp_in_explicit_task(), 1);
#pragma omp parallel num_threads(2)
            CHECK_EQ(omp_in_explicit_task(), 0);
            CHECK_EQ(omp_in_explicit_task(), 1);
        }
#pragma omp task if (0)
        CHECK_EQ(omp_in_explicit_task(), 1);
        CHECK_EQ(omp_in_explicit_task(), 0);
    }
    printf("ok\n");
    return check_result();
}
