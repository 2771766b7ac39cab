// The clock goes forward, in seconds, in steps of wtick at most.
#include "check.h"
#include <omp.h>
#include <time.h>

int main(void)
{
    double tick = omp_get_wtick(), start = omp_get_wtime(), last = start;
    CHECK(tick > 0.0 && tick <= 0.01);
    for (int i = 0; i < 1000; i++) {
        double now = omp_get_wtime();
        CHECK(now >= last);
        last = now;
    }
    struct timespec nap = {0, 50 * 1000 * 1000};
    start = omp_get_wtime();
    nanosleep(&nap, NULL);
    double slept = omp_get_wtime() - start;
    CHECK(slept >= 0.049 && slept < 20.0);
    printf("ok\n");
    return check_result();
}
