// fathomp: variants -O0 -O2
// in, out, inout and mutexinoutset, chains, fans, and tasks that are undeferred
// but depend.
#include "check.h"
#include <omp.h>

int main(void)
{
    enum { N = 300 };
#pragma omp parallel
#pragma omp single
    {
        // A chain is sequential.
        int at = 0;
        for (int i = 0; i < N; i++) {
#pragma omp task depend(inout : at) shared(at)
            {
                CHECK_EQ(at, i);
                at = i + 1;
            }
        }
#pragma omp taskwait
        CHECK_EQ(at, N);

        // One writer, many readers, one writer.
        int value = 0, readers = 0;
        for (int round = 1; round <= 20; round++) {
#pragma omp task depend(out : value) shared(value, readers) firstprivate(round)
            {
                CHECK_EQ(readers, 7 * (round - 1));
                value = round;
            }
            for (int r = 0; r < 7; r++) {
#pragma omp task depend(in : value) shared(value, readers) firstprivate(round)
                {
                    CHECK_EQ(value, round);
                    __atomic_add_fetch(&readers, 1, __ATOMIC_RELAXED);
                }
            }
        }
#pragma omp taskwait
        CHECK_EQ(readers, 140);

        // mutexinoutset: any order, one at a time.
        int inside = 0, total = 0;
        for (int i = 0; i < 50; i++) {
#pragma omp task depend(mutexinoutset : total) shared(inside, total)
            {
                CHECK_EQ(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST), 1);
                total++;
                __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
            }
        }
#pragma omp task depend(in : total) shared(total)
        CHECK_EQ(total, 50);
#pragma omp taskwait

        // Several addresses, a diamond, and an undeferred task at its end.
        int a = 0, b = 0, c = 0, d = 0;
#pragma omp task depend(out : a) shared(a)
        a = 1;
#pragma omp task depend(in : a) depend(out : b) shared(a, b)
        b = a + 1;
#pragma omp task depend(in : a) depend(out : c) shared(a, c)
        c = a + 2;
#pragma omp task if (0) depend(in : b, c) depend(out : d) shared(b, c, d)
        d = b + c;
        CHECK_EQ(d, 5);
#pragma omp taskwait

        // Array sections and iterators.
        int cells[32] = {0};
        for (int step = 1; step < 32; step++) {
#pragma omp task depend(in : cells[step - 1]) depend(out : cells[step]) shared(cells) firstprivate(step)
            cells[step] = cells[step - 1] + 1;
        }
        int sum = -1;
#pragma omp task depend(iterator(int k = 0 : 32), in : cells[k]) shared(cells, sum)
        {
            sum = 0;
            for (int k = 0; k < 32; k++)
                sum += cells[k];
        }
#pragma omp taskwait
        CHECK_EQ(sum, 31 * 32 / 2);
    }
    printf("ok\n");
    return check_result();
}
