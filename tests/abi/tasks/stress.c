// fathomp: timeout 60
// Random task graphs: every task checks that what it depends on is done.
#include "check.h"
#include <omp.h>

enum { CELLS = 16, TASKS = 600 };

static int version[CELLS]; // last writer
static int readers[CELLS]; // readers since

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

int main(void)
{
    for (unsigned graph = 1; graph <= 15; graph++) {
        unsigned state = graph * 7919u;
        int planned_version[CELLS] = {0}, planned_readers[CELLS] = {0};
        memset(version, 0, sizeof version);
        memset(readers, 0, sizeof readers);
#pragma omp parallel
#pragma omp single
        for (int t = 1; t <= TASKS; t++) {
            int from = (int)(next_random(&state) % CELLS), to = (int)(next_random(&state) % CELLS);
            if (from == to) {
                int want = planned_version[to], seen = planned_readers[to];
#pragma omp task depend(inout : version[to]) firstprivate(t, to, want, seen)
                {
                    CHECK_EQ(version[to], want);
                    CHECK_EQ(__atomic_load_n(&readers[to], __ATOMIC_ACQUIRE), seen);
                    version[to] = t;
                    __atomic_store_n(&readers[to], 0, __ATOMIC_RELEASE);
                }
                planned_version[to] = t;
                planned_readers[to] = 0;
            } else {
                int want_from = planned_version[from], want_to = planned_version[to];
                int seen = planned_readers[to];
#pragma omp task depend(in : version[from]) depend(out : version[to]) \
    firstprivate(t, from, to, want_from, want_to, seen) priority(t % 3)
                {
                    CHECK_EQ(version[from], want_from);
                    CHECK_EQ(version[to], want_to);
                    CHECK_EQ(__atomic_load_n(&readers[to], __ATOMIC_ACQUIRE), seen);
                    // Work for children, waited for before the task ends.
                    int sum = 0;
                    for (int c = 0; c < t % 4; c++) {
#pragma omp task shared(sum)
                        __atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED);
                    }
#pragma omp taskwait
                    CHECK_EQ(sum, t % 4);
                    __atomic_add_fetch(&readers[from], 1, __ATOMIC_ACQ_REL);
                    version[to] = t;
                    __atomic_store_n(&readers[to], 0, __ATOMIC_RELEASE);
                }
                planned_readers[from]++;
                planned_version[to] = t;
                planned_readers[to] = 0;
            }
        }
        int before = check_failures;
        for (int c = 0; c < CELLS; c++) {
            CHECK_EQ(version[c], planned_version[c]);
            CHECK_EQ(readers[c], planned_readers[c]);
        }
        if (check_failures != before)
            fprintf(stderr, "graph %u\n", graph);
    }
    printf("ok\n");
    return check_result();
}
