// fathomp: variants -O0 -O2
// Ordered sections run in iteration order under every schedule.
#include "check.h"
#include <omp.h>

enum { N = 200 };
static int order[N], next;

static void in_order(void)
{
    CHECK_EQ(next, N);
    for (int i = 0; i < N; i++)
        CHECK_EQ(order[i], i);
    next = 0;
}

#define ORDERED(clause)                                      \
    do {                                                     \
        _Pragma("omp parallel")                              \
        {                                                    \
            _Pragma(clause)                                  \
            for (int i = 0; i < N; i++) {                    \
                _Pragma("omp ordered")                       \
                order[next++] = i;                           \
            }                                                \
        }                                                    \
        in_order();                                          \
    } while (0)

int main(void)
{
    ORDERED("omp for ordered");
    ORDERED("omp for ordered schedule(static, 1)");
    ORDERED("omp for ordered schedule(static, 7)");
    ORDERED("omp for ordered schedule(dynamic)");
    ORDERED("omp for ordered schedule(dynamic, 9)");
    ORDERED("omp for ordered schedule(guided)");
    ORDERED("omp for ordered schedule(guided, 4)");
    ORDERED("omp for ordered schedule(auto)");
    ORDERED("omp for ordered schedule(runtime)");
    for (omp_sched_t kind = omp_sched_static; kind <= omp_sched_auto; kind++) {
        omp_set_schedule(kind, 3);
        ORDERED("omp for ordered schedule(runtime)");
    }
    // Only some iterations have an ordered part; others overtake.
    int at = 0;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < N; i++) {
        if (i % 3 == 0) {
#pragma omp ordered
            order[at++] = i;
        }
    }
    CHECK_EQ(at, (N + 2) / 3);
    for (int i = 0; i < at; i++)
        CHECK_EQ(order[i], 3 * i);
    // Unsigned long long.
    unsigned long long sum = 0, previous = 0;
#pragma omp parallel for ordered schedule(dynamic, 2)
    for (unsigned long long i = ~0ULL - 100; i < ~0ULL; i++) {
#pragma omp ordered
        {
            CHECK(i > previous);
            previous = i;
            sum++;
        }
    }
    CHECK_EQ(sum, 100);
    printf("ok\n");
    return check_result();
}
