// fathomp: env OMP_CANCELLATION=true
// fathomp: libgomp does not let go on who waits for the turn of a member that has left
// The region is cancelled before a loop whose iterations take turns: whoever is in it
// waits for members that never come there, and goes on.
#include "check.h"
#include <omp.h>
#include <unistd.h>

enum { COUNT = 64 };

static void leave(int turn, int member)
{
    if (member == turn)
        usleep(2000);
}

static int ordered_loop(int leaver)
{
    int over = 0;
#pragma omp parallel reduction(+ : over)
    {
        int me = omp_get_thread_num();
        leave(leaver, me);
        if (me == leaver) {
#pragma omp cancel parallel
        }
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < COUNT; i++) {
#pragma omp ordered
            over += 1 - 1;
        }
        over++;
    }
    return over;
}

static int doacross_loop(int leaver)
{
    int over = 0;
#pragma omp parallel reduction(+ : over)
    {
        int me = omp_get_thread_num();
        leave(leaver, me);
        if (me == leaver) {
#pragma omp cancel parallel
        }
#pragma omp for ordered(1) schedule(static, 1)
        for (int i = 0; i < COUNT; i++) {
#pragma omp ordered depend(sink : i - 1)
#pragma omp ordered depend(source)
        }
        over++;
    }
    return over;
}

int main(void)
{
    int threads = omp_get_max_threads();
    for (int round = 0; round < 10; round++)
        for (int leaver = 0; leaver < threads; leaver += threads > 1 ? threads - 1 : 1) {
            CHECK(ordered_loop(leaver) < threads);
            CHECK(doacross_loop(leaver) < threads);
        }
    // Turns are as before afterwards.
    int turn = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < COUNT; i++) {
#pragma omp ordered
        {
            CHECK_EQ(turn, i);
            turn++;
        }
    }
    CHECK_EQ(turn, COUNT);
    printf("ok\n");
    return check_result();
}
