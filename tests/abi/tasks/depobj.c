// Dependence objects: made, updated, used, destroyed.
#include "check.h"
#include <omp.h>

int main(void)
{
    int x = 0, y = 0, log[4] = {0}, at = 0;
#pragma omp parallel
#pragma omp single
    {
        omp_depend_t first, second, set;
#pragma omp depobj(first) depend(out : x)
#pragma omp depobj(second) depend(in : x)
#pragma omp depobj(set) depend(mutexinoutset : y)
#pragma omp task depend(depobj : first) shared(log, at, x)
        {
            x = 5;
            log[at++] = 1;
        }
#pragma omp task depend(depobj : second) shared(log, at, x)
        {
            CHECK_EQ(x, 5);
            log[at++] = 2;
        }
#pragma omp depobj(second) update(inout)
#pragma omp task depend(depobj : second) shared(log, at, x)
        {
            log[at++] = 3;
            x = 6;
        }
#pragma omp task depend(in : x) shared(log, at, x)
        {
            CHECK_EQ(x, 6);
            log[at++] = 4;
        }
        for (int i = 0; i < 20; i++) {
#pragma omp task depend(depobj : set) shared(y)
            y++;
        }
#pragma omp taskwait
#pragma omp depobj(first) destroy
#pragma omp depobj(second) destroy
#pragma omp depobj(set) destroy
    }
    for (int i = 0; i < 4; i++)
        CHECK_EQ(log[i], i + 1);
    CHECK_EQ(y, 20);
    printf("ok\n");
    return check_result();
}
