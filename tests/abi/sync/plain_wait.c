// A thread waits for a plain variable, which it has read before, right behind a
// barrier: nothing it does afterwards enters the runtime.
#include "check.h"
#include <omp.h>
#include <unistd.h>

enum { PAGE = 1024 };

static volatile int flag[4 * PAGE];
static volatile int other[64 * PAGE];

int main(void)
{
    int before = 0;
#pragma omp parallel reduction(+ : before)
    {
        int me = omp_get_thread_num(), last = omp_get_num_threads() - 1;
        if (me == last)
            before += flag[2 * PAGE];
#pragma omp barrier
        other[me % 64 * PAGE] = 1;
#pragma omp barrier
        if (me == 0) {
            usleep(50000);
            flag[2 * PAGE] = 1;
        }
        if (me == last)
            while (!flag[2 * PAGE])
                ;
    }
    CHECK_EQ(before, 0);
    printf("ok\n");
    return check_result();
}
