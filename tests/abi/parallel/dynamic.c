// With dynamic adjustment a team may be smaller than asked for, never larger.
#include "check.h"
#include <omp.h>

int main(void)
{
    CHECK_EQ(omp_get_dynamic(), 0);
    omp_set_dynamic(1);
    CHECK_EQ(omp_get_dynamic(), 1);
    for (int round = 0; round < 20; round++) {
        int members = 0, size = 0;
#pragma omp parallel num_threads(6) reduction(+ : members)
        {
            members += 1;
#pragma omp single
            size = omp_get_num_threads();
        }
        CHECK(size >= 1 && size <= 6);
        CHECK_EQ(members, size);
    }
    omp_set_dynamic(0);
#pragma omp parallel num_threads(6)
    CHECK_EQ(omp_get_num_threads(), 6);
    printf("ok\n");
    return check_result();
}
