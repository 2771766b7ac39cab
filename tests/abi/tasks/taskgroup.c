// A taskgroup waits for descendants, taskwait only for children.
#include "check.h"
#include <omp.h>

static int count;

static void tree(int depth)
{
    __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    if (depth == 0)
        return;
#pragma omp task
    tree(depth - 1);
#pragma omp task
    tree(depth - 1);
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    for (int round = 1; round <= 20; round++) {
#pragma omp taskgroup
        {
#pragma omp task
            tree(6);
#pragma omp taskgroup
            {
#pragma omp task
                tree(2);
            }
        }
        CHECK_EQ(__atomic_load_n(&count, __ATOMIC_RELAXED), round * (127 + 7));
    }
    printf("%d\n", count);
    return check_result();
}
