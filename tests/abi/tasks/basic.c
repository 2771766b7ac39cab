// fathomp: variants -O0 -O2
// Tasks are run once each, with their own copies of firstprivate data.
#include "check.h"
#include <omp.h>

enum { N = 3000 };
static int ran[N];

struct bulk {
    long v[200];
};

int main(void)
{
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < N; i++) {
#pragma omp task
        {
            __atomic_add_fetch(&ran[i], 1, __ATOMIC_RELAXED);
#pragma omp atomic
            sum += i;
        }
    }
    for (int i = 0; i < N; i++)
        CHECK_EQ(ran[i], 1);
    CHECK_EQ(sum, (long)N * (N - 1) / 2);

    // Large firstprivate data, kept after the frame that made it is gone.
    sum = 0;
#pragma omp parallel
#pragma omp single nowait
    for (int t = 0; t < 50; t++) {
        struct bulk b;
        for (int i = 0; i < 200; i++)
            b.v[i] = t + i;
#pragma omp task firstprivate(b) shared(sum)
        {
            long mine = 0;
            for (int i = 0; i < 200; i++)
                mine += b.v[i];
#pragma omp atomic
            sum += mine;
        }
    }
    CHECK_EQ(sum, 50L * 19900 + 200L * 1225);

    // Every thread makes tasks; a barrier waits for all of them.
    int done = 0;
#pragma omp parallel
    {
        for (int i = 0; i < 100; i++) {
#pragma omp task
            __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
        }
#pragma omp barrier
        CHECK_EQ(__atomic_load_n(&done, __ATOMIC_RELAXED), 100 * omp_get_num_threads());
    }
    // Alignment of the data that is copied.
    int misaligned = 0;
#pragma omp parallel
#pragma omp single
    {
        long double a = 1.0L;
        char c = 2;
        double v[4] __attribute__((aligned(64))) = {1, 2, 3, 4};
#pragma omp task firstprivate(a, c, v)
        {
            misaligned = (size_t)v % 64 != 0 || (size_t)&a % _Alignof(long double) != 0;
            CHECK(a == 1.0L && c == 2 && v[3] == 4);
        }
    }
    CHECK_EQ(misaligned, 0);
    printf("%ld\n", sum);
    return check_result();
}
