// fathomp: clang leaves updates of long double to a library of its own
// Every reduction operator over every kind of construct that has one.
#include "check.h"
#include <math.h>
#include <omp.h>

enum { N = 1000 };

int main(void)
{
    int sum = 1, difference = 2, band = -1, bor = 0, bxor = 5, land = 1, lor = 0;
    int least = 1 << 30, most = -(1 << 30);
    double product = 1.0, dsum = 0.0, dmin = 1e300, dmax = -1e300;
    long double ld = 0.0L;
    float _Complex z = 0.0f;
    unsigned char small = 0;
#pragma omp parallel for reduction(+ : sum, dsum, ld, z, small) reduction(- : difference) \
    reduction(* : product) reduction(& : band) reduction(| : bor) reduction(^ : bxor)     \
    reduction(&& : land) reduction(|| : lor) reduction(min : least, dmin) reduction(max : most, dmax)
    for (int i = 0; i < N; i++) {
        sum += i;
        dsum += 0.5;
        ld += 0.25L;
        z += 1.0f;
        small++;
        difference -= 1;
        if (i % 100 == 0)
            product *= 2.0;
        band &= ~(1 << (i % 10));
        bor |= 1 << (i % 20);
        bxor ^= i;
        land = land && i >= 0;
        lor = lor || i == 777;
        if (i * 7 % 1000 - 500 < least)
            least = i * 7 % 1000 - 500;
        if (i * 7 % 1000 > most)
            most = i * 7 % 1000;
        dmin = fmin(dmin, i - 3.5);
        dmax = fmax(dmax, i + 3.5);
    }
    CHECK_EQ(sum, 1 + N * (N - 1) / 2);
    CHECK(dsum == 500.0);
    CHECK(ld == 250.0L);
    CHECK(__real__ z == 1000.0f);
    CHECK_EQ(small, 1000 % 256);
    CHECK_EQ(difference, 2 - N);
    CHECK(product == 1024.0);
    CHECK_EQ(band, ~1023);
    CHECK_EQ(bor, (1 << 20) - 1);
    CHECK_EQ(bxor, 5);
    CHECK_EQ(land, 1);
    CHECK_EQ(lor, 1);
    CHECK_EQ(least, -500);
    CHECK_EQ(most, 999);
    CHECK(dmin == -3.5 && dmax == 1002.5);

    // On the region itself, on nowait loops, on sections.
    long region = 0, loop = 0, parts = 0;
#pragma omp parallel reduction(+ : region)
    {
        region += 10;
#pragma omp for schedule(dynamic) reduction(+ : loop) nowait
        for (int i = 0; i < N; i++)
            loop += i;
#pragma omp sections reduction(+ : parts)
        {
#pragma omp section
            parts += 3;
#pragma omp section
            parts += 4;
        }
#pragma omp barrier
        CHECK_EQ(loop, N * (N - 1) / 2);
        CHECK_EQ(parts, 7);
    }
    CHECK_EQ(region, 10L * omp_get_max_threads());
    printf("%d %d\n", sum, bxor);
    return check_result();
}
