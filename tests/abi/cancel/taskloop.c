// fathomp: env OMP_CANCELLATION=true
// fathomp: libgomp tasks of a loop that run at once are run although their group is cancelled
// Cancellation of the taskgroup that a taskloop implies.
#include "check.h"
#include <omp.h>
#include <stdlib.h>

enum { TASKS = 10000 };

int main(void)
{
    int begun = 0, on_nodes = getenv("FATHOMP_NODES") != NULL;
#pragma omp parallel
#pragma omp single
    for (int repeat = 0; repeat < 20; repeat++) {
        begun = 0;
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < TASKS; i++) {
#pragma omp cancellation point taskgroup
            __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
#pragma omp cancel taskgroup
        }
        // Only those had begun that other threads ran meanwhile; other nodes hear of it later.
        CHECK(begun >= 1 && begun <= (on_nodes ? TASKS / 2 : omp_get_num_threads()));

        // The group is over, and so is its cancellation.
        int after = 0;
#pragma omp taskloop grainsize(1) shared(after)
        for (int i = 0; i < 100; i++)
            __atomic_add_fetch(&after, 1, __ATOMIC_RELAXED);
        CHECK_EQ(after, 100);
    }
    printf("ok\n");
    return check_result();
}
