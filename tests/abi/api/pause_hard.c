// Regions work after a hard pause.
#include "check.h"
#include <omp.h>

int main(void)
{
    for (int round = 0; round < 5; round++) {
        int members = 0;
#pragma omp parallel reduction(+ : members)
        members++;
        CHECK_EQ(members, omp_get_max_threads());
        CHECK_EQ(omp_pause_resource_all(omp_pause_hard), 0);
    }
    int refused = -1;
#pragma omp parallel num_threads(2)
#pragma omp single
    refused = omp_pause_resource_all(omp_pause_hard);
    CHECK(refused != 0);
    printf("ok\n");
    return check_result();
}
