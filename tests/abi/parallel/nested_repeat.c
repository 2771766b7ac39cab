// Many nested regions, with a barrier and a loop inside: inner teams must not
// disturb one another or the outer team.
#include "check.h"
#include <omp.h>

int main(void)
{
    long total = 0;
    omp_set_max_active_levels(2);
    for (int round = 0; round < 30; round++) {
#pragma omp parallel num_threads(3) reduction(+ : total)
        {
            long inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
            {
#pragma omp for schedule(dynamic)
                for (int i = 0; i < 100; i++)
                    inner += i;
#pragma omp barrier
#pragma omp single
                inner += 1;
            }
            CHECK_EQ(inner, 4951);
            total += inner;
#pragma omp barrier
        }
    }
    CHECK_EQ(total, 30L * 3 * 4951);
    printf("%ld\n", total);
    return check_result();
}
