// Array sections, large arrays, and user-defined reductions.
#include "check.h"
#include <omp.h>

struct extent {
    int low, high;
};

static void widen(struct extent *into, const struct extent *from)
{
    if (from->low < into->low)
        into->low = from->low;
    if (from->high > into->high)
        into->high = from->high;
}

#pragma omp declare reduction(widen : struct extent : widen(&omp_out, &omp_in)) \
    initializer(omp_priv = (struct extent){1 << 30, -(1 << 30)})

int main(void)
{
    enum { N = 2000, BINS = 64 };
    long bins[BINS] = {0};
#pragma omp parallel for reduction(+ : bins)
    for (int i = 0; i < N; i++)
        bins[i * 37 % BINS] += i;
    long total = 0;
    for (int b = 0; b < BINS; b++)
        total += bins[b];
    CHECK_EQ(total, (long)N * (N - 1) / 2);

    int part[10] = {0};
    int from = 3, count = 4;
#pragma omp parallel reduction(+ : part[from:count])
    for (int i = 3; i < 7; i++)
        part[i] += i;
    for (int i = 0; i < 10; i++)
        CHECK_EQ(part[i], i >= 3 && i < 7 ? i * omp_get_max_threads() : 0);

    static double big[20000];
#pragma omp parallel reduction(+ : big)
    for (int i = 0; i < 20000; i++)
        big[i] += 1.0;
    for (int i = 0; i < 20000; i++)
        CHECK(big[i] == omp_get_max_threads());

    struct extent e = {1 << 30, -(1 << 30)};
#pragma omp parallel for reduction(widen : e) schedule(guided)
    for (int i = 0; i < N; i++) {
        struct extent one = {i * 11 % 1999 - 7, i * 11 % 1999 + 9};
        widen(&e, &one);
    }
    CHECK_EQ(e.low, -7);
    CHECK_EQ(e.high, 1998 + 9);
    printf("%ld %d %d\n", total, e.low, e.high);
    return check_result();
}
