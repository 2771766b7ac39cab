// fathomp: clang 14 does not know the modifier strict
// The number and size of a taskloop's tasks follow grainsize and num_tasks.
#include "check.h"
#include <omp.h>

static int starts[200], count;

static void note(int i)
{
    starts[__atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST)] = i;
}

// Iterations per task: each task has a private copy that starts at -1.
#define COUNT(clause, n)                                            \
    do {                                                            \
        count = 0;                                                  \
        int fresh = -1;                                             \
        _Pragma("omp parallel")                                     \
        _Pragma("omp single")                                       \
        {                                                           \
            _Pragma(clause)                                         \
            for (int i = 0; i < (n); i++) {                         \
                if (fresh == -1)                                    \
                    note(i);                                        \
                fresh = i;                                          \
            }                                                       \
        }                                                           \
    } while (0)

int main(void)
{
    COUNT("omp taskloop firstprivate(fresh) num_tasks(7)", 100);
    CHECK_EQ(count, 7);
    COUNT("omp taskloop firstprivate(fresh) num_tasks(7)", 3);
    CHECK_EQ(count, 3);
    COUNT("omp taskloop firstprivate(fresh) num_tasks(strict : 7)", 100);
    CHECK_EQ(count, 7);
    COUNT("omp taskloop firstprivate(fresh) grainsize(strict : 7)", 100);
    CHECK_EQ(count, 15);
    for (int i = 0; i < count; i++)
        CHECK_EQ(starts[i] % 7, 0);
    // Not strict: between grainsize and twice grainsize iterations each.
    COUNT("omp taskloop firstprivate(fresh) grainsize(7)", 100);
    CHECK(count >= 100 / 14 && count <= 100 / 7);
    COUNT("omp taskloop firstprivate(fresh) grainsize(1000)", 100);
    CHECK_EQ(count, 1);
    printf("ok\n");
    return check_result();
}
