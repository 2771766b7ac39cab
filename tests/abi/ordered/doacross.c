// fathomp: variants -O0 -O2
// doacross loops: an iteration starts once those that it depends on are done.
#include "check.h"
#include <omp.h>

enum { N = 40, M = 30 };
static int grid[N][M];

static void clear(void)
{
    memset(grid, 0, sizeof grid);
}

static int value(int i, int j)
{
    return __atomic_load_n(&grid[i][j], __ATOMIC_RELAXED);
}

#define ONE(clause)                                                                 \
    do {                                                                            \
        int line[N] = {0};                                                          \
        _Pragma(clause)                                                             \
        for (int i = 0; i < N; i++) {                                               \
            _Pragma("omp ordered depend(sink : i - 2)")                             \
            if (i >= 2)                                                             \
                CHECK_EQ(__atomic_load_n(&line[i - 2], __ATOMIC_RELAXED), 1);       \
            __atomic_store_n(&line[i], 1, __ATOMIC_RELAXED);                        \
            _Pragma("omp ordered depend(source)")                                   \
        }                                                                           \
        for (int i = 0; i < N; i++)                                                 \
            CHECK_EQ(line[i], 1);                                                   \
    } while (0)

int main(void)
{
    ONE("omp parallel for ordered(1)");
    ONE("omp parallel for ordered(1) schedule(static, 1)");
    ONE("omp parallel for ordered(1) schedule(static, 3)");
    ONE("omp parallel for ordered(1) schedule(dynamic)");
    ONE("omp parallel for ordered(1) schedule(dynamic, 4)");
    ONE("omp parallel for ordered(1) schedule(guided)");
    ONE("omp parallel for ordered(1) schedule(runtime)");

    // Two dimensions, both ordered.
    clear();
#pragma omp parallel for ordered(2) schedule(dynamic)
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            int up = i ? value(i - 1, j) : 1, left = j ? value(i, j - 1) : 1;
            CHECK(up > 0);
            CHECK(left > 0);
            __atomic_store_n(&grid[i][j], (up + left) % 1000 + 1, __ATOMIC_RELAXED);
#pragma omp ordered depend(source)
        }
    long sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            sum += grid[i][j];

    // The same with collapse, and downwards.
    clear();
#pragma omp parallel for collapse(2) ordered(2) schedule(static, 2)
    for (int i = N - 1; i >= 0; i--)
        for (int j = M - 1; j >= 0; j--) {
#pragma omp ordered depend(sink : i + 1, j) depend(sink : i, j + 1)
            int up = i < N - 1 ? value(i + 1, j) : 1, left = j < M - 1 ? value(i, j + 1) : 1;
            CHECK(up > 0 && left > 0);
            __atomic_store_n(&grid[i][j], (up + left) % 1000 + 1, __ATOMIC_RELAXED);
#pragma omp ordered depend(source)
        }
    long mirrored = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            mirrored += grid[i][j];
    CHECK_EQ(sum, mirrored);

    // Unsigned long long, strides, and a range above LONG_MAX.
    int line[50] = {0};
    unsigned long long base = 1ULL << 63;
#pragma omp parallel for ordered(1) schedule(dynamic, 2)
    for (unsigned long long i = base; i < base + 150; i += 3) {
#pragma omp ordered depend(sink : i - 3)
        if (i > base)
            CHECK_EQ(__atomic_load_n(&line[(i - base) / 3 - 1], __ATOMIC_RELAXED), 1);
        __atomic_store_n(&line[(i - base) / 3], 1, __ATOMIC_RELAXED);
#pragma omp ordered depend(source)
    }
    for (int i = 0; i < 50; i++)
        CHECK_EQ(line[i], 1);
    printf("%ld\n", sum);
    return check_result();
}
