// fathomp: clang lets threads overwrite what lastprivate(conditional:) has, on LLVM's runtime too
// lastprivate, firstprivate, linear, collapse, conditional lastprivate.
#include "check.h"
#include <omp.h>

int main(void)
{
    int last = -1, given = 3, line = 10, where = -1;
#pragma omp parallel for schedule(dynamic) lastprivate(last) firstprivate(given)
    for (int i = 0; i < 97; i++) {
        CHECK_EQ(given, 3);
        last = i * 2;
    }
    CHECK_EQ(last, 192);
#pragma omp parallel for schedule(guided) linear(line : 2)
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(line, 10 + 2 * i);
        line += 2;
    }
    CHECK_EQ(line, 110);
#pragma omp parallel for schedule(dynamic, 3) lastprivate(conditional : where)
    for (int i = 0; i < 100; i++)
        if (i % 13 == 0)
            where = i;
    CHECK_EQ(where, 91);

    int seen[6][7][8] = {{{0}}};
#pragma omp parallel for collapse(3) schedule(dynamic, 5)
    for (int i = 0; i < 6; i++)
        for (int j = 6; j >= 0; j--)
            for (int k = 0; k < 8; k += 3)
                __atomic_add_fetch(&seen[i][j][k], 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 7; j++)
            for (int k = 0; k < 8; k++)
                CHECK_EQ(seen[i][j][k], k % 3 == 0);

    int triangle = 0;
#pragma omp parallel for collapse(2) reduction(+ : triangle)
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < i; j++)
            triangle++;
    CHECK_EQ(triangle, 190);
    printf("%d %d %d\n", last, line, where);
    return check_result();
}
