// GOMP_atomic_start and GOMP_atomic_end by hand.
#include "check.h"
#include <omp.h>

extern void GOMP_atomic_start(void);
extern void GOMP_atomic_end(void);

int main(void)
{
    long count = 0;
#pragma omp parallel
    for (int i = 0; i < 5000; i++) {
        GOMP_atomic_start();
        count++;
        GOMP_atomic_end();
    }
    CHECK_EQ(count, 5000L * omp_get_max_threads());
    printf("%ld\n", count);
    return check_result();
}
