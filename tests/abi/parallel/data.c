// private, firstprivate, shared, default(none), and copies of large objects.
#include "check.h"
#include <omp.h>

struct big {
    long v[512];
};

int main(void)
{
    int own = 7, given = 11, all = 0;
    struct big block;
    for (int i = 0; i < 512; i++)
        block.v[i] = i;
#pragma omp parallel default(none) private(own) firstprivate(given, block) shared(all, stderr, check_failures)
    {
        own = omp_get_thread_num();
        CHECK_EQ(given, 11);
        given += own;
        for (int i = 0; i < 512; i++) {
            CHECK_EQ(block.v[i], i);
            block.v[i] = own;
        }
#pragma omp barrier
        CHECK_EQ(own, omp_get_thread_num());
        CHECK_EQ(given, 11 + own);
        CHECK_EQ(block.v[511], own);
#pragma omp atomic
        all += 1;
    }
    CHECK_EQ(own, 7);
    CHECK_EQ(given, 11);
    CHECK_EQ(block.v[511], 511);
    CHECK_EQ(all, omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
