// fathomp: clang 14 does not know the clause compare
// fathomp: variants -O0 -O2
// Atomic updates, reads, writes and captures: what processors do themselves,
// and the long double and unaligned forms that fall back on GOMP_atomic_*.
#include "check.h"
#include <omp.h>

struct __attribute__((packed)) odd {
    char c;
    double d;
};

int main(void)
{
    // Between processes each of these is a message or two.
    int rounds = getenv("FATHOMP_NODES") ? 200 : 2000;
    int i = 0;
    char c = 0;
    double d = 0.0;
    float f = 0.0f;
    long double ld = 0.0L;
    struct odd odd = {0, 0.0};
    long long taken = 0, sum = 0;
    int swapped = 0, most = 0;
#pragma omp parallel reduction(+ : sum)
    for (int r = 0; r < rounds; r++) {
        long long mine;
        long double seen;
#pragma omp atomic
        i++;
#pragma omp atomic
        c += 1;
#pragma omp atomic
        d += 0.5;
#pragma omp atomic seq_cst
        f -= 1.0f;
#pragma omp atomic
        ld += 1.0L;
#pragma omp atomic
        odd.d += 2.0;
#pragma omp atomic capture acq_rel
        mine = taken++;
        sum += mine;
#pragma omp atomic read
        seen = ld;
        CHECK(seen >= 1.0L);
#pragma omp atomic capture
        {
            mine = swapped;
            swapped = r;
        }
#pragma omp atomic compare
        if (most < r) { most = r; }
#pragma omp atomic write
        swapped = 1;
    }
    long long n = (long long)rounds * omp_get_max_threads();
    CHECK_EQ(i, n);
    CHECK_EQ((unsigned char)c, n % 256);
    CHECK(d == 0.5 * n);
    CHECK(f == -(float)n);
    CHECK(ld == n);
    CHECK(odd.d == 2.0 * n);
    CHECK_EQ(taken, n);
    CHECK_EQ(sum, n * (n - 1) / 2);
    CHECK_EQ(most, rounds - 1);
    printf("%lld\n", n / rounds);
    return check_result();
}
