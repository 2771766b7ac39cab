// schedule(static) gives contiguous blocks in thread order, schedule(static, c)
// deals chunks round; two such loops give each thread the same iterations.
#include "check.h"
#include <omp.h>

enum { N = 100 };

int main(void)
{
    int first[N], second[N], dealt[N];
    int threads = omp_get_max_threads();
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < N; i++)
            first[i] = omp_get_thread_num();
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            second[i] = omp_get_thread_num();
#pragma omp for schedule(static, 3)
        for (int i = 0; i < N; i++)
            dealt[i] = omp_get_thread_num();
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(first[i], second[i]);
        CHECK_EQ(dealt[i], i / 3 % threads);
        if (i)
            CHECK(first[i] == first[i - 1] || first[i] == first[i - 1] + 1);
        printf("%d ", first[i]);
    }
    printf("\n");
    return check_result();
}
