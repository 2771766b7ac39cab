// What tasks of a taskloop may do: create tasks and wait for them or not, meet further loops,
// groups and regions, change their own variables and settings.
#include "check.h"
#include <omp.h>

static int done;

static void note(void) { __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED); }

static int take_done(void) { return __atomic_exchange_n(&done, 0, __ATOMIC_RELAXED); }

// A loop whose tasks meet loops, `depth` times.
static void loops(int depth)
{
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < 3; i++) {
        if (depth > 1)
            loops(depth - 1);
        else
            note();
    }
}

int main(void)
{
    int threads = omp_get_max_threads();

#pragma omp parallel
#pragma omp single
    {
        // Many tasks, of which halves are stolen again and again.
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 100000; i++)
            note();
        CHECK_EQ(take_done(), 100000);

        // Children that are waited for.
#pragma omp taskloop num_tasks(50)
        for (int i = 0; i < 200; i++) {
            int got = 0;
#pragma omp task shared(got)
            got = i + 1;
#pragma omp taskwait
            CHECK_EQ(got, i + 1);
            note();
        }
        CHECK_EQ(take_done(), 200);

        // Children that outlive their parents, but not the loop's group.
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 100; i++) {
#pragma omp task
            {
#pragma omp task
                note();
                note();
            }
        }
        CHECK_EQ(take_done(), 200);

        // Dependences are those of the task that has them.
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 50; i++) {
            int step = 0;
#pragma omp taskgroup
            {
#pragma omp task depend(out : step) shared(step)
                step = 1;
#pragma omp task depend(inout : step) shared(step)
                step = step == 1 ? 2 : -1;
            }
            CHECK_EQ(step, 2);
        }

        // More loops inside each other than threads keep parts of.
        loops(7);
        CHECK_EQ(take_done(), 3 * 3 * 3 * 3 * 3 * 3 * 3);

        // Each task is an explicit one of its own; its private variables begin anew.
        int copy = 5;
        int room[40] = {0};
#pragma omp taskloop grainsize(1) firstprivate(copy, room)
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(copy++, 5);
            CHECK_EQ(room[i % 40]++, 0);
            CHECK(!omp_in_final());
        }
#pragma omp taskloop grainsize(1) final(1)
        for (int i = 0; i < 20; i++)
            CHECK(omp_in_final());

        // Settings, too.
        omp_set_num_threads(threads + 3);
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(omp_get_max_threads(), threads + 3);
            omp_set_num_threads(1);
        }
        CHECK_EQ(omp_get_max_threads(), threads + 3);

        // Regions.
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 10; i++) {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop grainsize(1)
            for (int j = 0; j < 10; j++)
                note();
        }
        CHECK_EQ(take_done(), 100);

        // Tasks that may be suspended.
#pragma omp taskloop grainsize(1) untied
        for (int i = 0; i < 100; i++) {
#pragma omp task
            note();
#pragma omp taskyield
            note();
        }
        CHECK_EQ(take_done(), 200);
    }

    // All threads at once.
#pragma omp parallel
    {
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 1000; i++)
            note();
        CHECK(__atomic_load_n(&done, __ATOMIC_RELAXED) >= 1000);
#pragma omp barrier
#pragma omp single
        CHECK_EQ(take_done(), 1000 * omp_get_num_threads());
    }

    // Outside of regions.
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < 10; i++)
        note();
    CHECK_EQ(take_done(), 10);

    printf("ok\n");
    return check_result();
}
