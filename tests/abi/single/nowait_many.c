// Many single regions without barriers: threads run ahead of one another.
#include "check.h"
#include <omp.h>

int main(void)
{
    int ran[1000] = {0};
#pragma omp parallel
    for (int i = 0; i < 1000; i++) {
#pragma omp single nowait
        __atomic_add_fetch(&ran[i], 1, __ATOMIC_RELAXED);
    }
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(ran[i], 1);
    printf("ok\n");
    return check_result();
}
