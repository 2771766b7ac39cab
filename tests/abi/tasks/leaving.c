// Tasks that take long enough for idle threads to help, wherever those are: each construct that
// waits for tasks sees what they have written, and tasks see what was written before them.
#include "check.h"
#include <omp.h>
#include <unistd.h>

enum { MANY = 24, LONG = 3000 };

/* Far apart, so that each lies in a page of its own. */
struct cell {
    long value;
    char rest[8184];
};

static struct cell cells[MANY];
static long sum, twice, inputs[MANY];
static long kept;
#pragma omp threadprivate(kept)

static void pause_briefly(void)
{
    usleep(300);
}

static void clear(void)
{
    for (int i = 0; i < MANY; i++)
        cells[i].value = 0;
}

/* A tree of tasks, each of which waits for its children and adds to what they say. */
static long tree(int depth)
{
    if (depth == 0) {
        pause_briefly();
        return 1;
    }
    long left = -1, right = -1, inner[3] = {1, 1, 1};
#pragma omp task shared(left, inner)
    {
        left = tree(depth - 1);
        inner[0] += left;
    }
#pragma omp task shared(right) firstprivate(inner)
    {
        right = tree(depth - 1);
        inner[1] += right; /* of the task's own */
    }
#pragma omp taskwait
    CHECK(left == right && inner[0] == 1 + left && inner[1] == 1);
    return left + right;
}

static void waits(void)
{
    clear();
    long expected = inputs[0] + 1;
    for (int i = 0; i < MANY; i++) {
        inputs[i]++;
#pragma omp task firstprivate(i, expected)
        {
            pause_briefly();
            CHECK(inputs[i] == expected);
            cells[i].value = i + 1;
        }
    }
#pragma omp taskwait
    for (int i = 0; i < MANY; i++)
        CHECK(cells[i].value == i + 1);
}

static void groups(void)
{
    clear();
#pragma omp taskgroup
    for (int i = 0; i < MANY / 2; i++)
#pragma omp task firstprivate(i)
    {
        /* Nobody but the group waits for it. */
#pragma omp task firstprivate(i)
        {
            pause_briefly();
            cells[2 * i + 1].value = 7;
        }
        cells[2 * i].value = 7;
    }
    for (int i = 0; i < MANY; i++)
        CHECK(cells[i].value == 7);
}

static void chains(void)
{
    clear();
    for (int step = 0; step < 4; step++)
        for (int i = 1; i < MANY; i++)
#pragma omp task depend(in : cells[i - 1]) depend(inout : cells[i]) firstprivate(step, i)
        {
            if (i % 4 == 0)
                pause_briefly();
            CHECK(i == 1 || cells[i - 1].value == step + 1);
            cells[i].value++;
        }
    /* Undeferred, after the last of one chain. */
#pragma omp task if (0) depend(in : cells[MANY - 1])
    CHECK(cells[MANY - 1].value == 4);
#pragma omp taskwait
}

static void sums(void)
{
    long reduced = 0;
#pragma omp taskgroup task_reduction(+ : reduced)
    for (int i = 0; i < MANY; i++)
#pragma omp task in_reduction(+ : reduced) firstprivate(i)
    {
        pause_briefly();
        reduced += i;
    }
    CHECK(reduced == MANY * (MANY - 1) / 2);
    reduced = 0;
#pragma omp taskloop reduction(+ : reduced) grainsize(50)
    for (int i = 0; i < LONG; i++)
        reduced += i;
    CHECK(reduced == (long)LONG * (LONG - 1) / 2);
}

static void locks(void)
{
    sum = twice = 0;
    for (int i = 0; i < MANY; i++)
#pragma omp task priority(i % 3)
    {
        pause_briefly();
        if (i % 2 == 0) {
#pragma omp critical(adding)
            sum += 1;
        } else {
#pragma omp atomic
            twice += 2;
        }
    }
#pragma omp taskwait
    CHECK(sum == MANY / 2 && twice == MANY);
}

static void cancelled(void)
{
    sum = 0;
#pragma omp taskgroup
    for (int i = 0; i < MANY; i++)
#pragma omp task firstprivate(i)
    {
        pause_briefly();
        if (i == 2) {
#pragma omp cancel taskgroup
        }
#pragma omp atomic
        sum += 1;
    }
    CHECK(sum <= MANY);
    waits();
}

static void threads(void)
{
    for (int i = 0; i < MANY; i++)
#pragma omp task mergeable
    {
        int me = omp_get_thread_num();
        kept = 100 + me;
        pause_briefly();
        CHECK(omp_get_num_threads() >= 1 && me < omp_get_num_threads());
        CHECK(kept == 100 + omp_get_thread_num() && omp_get_thread_num() == me);
    }
#pragma omp taskwait
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
#pragma omp parallel
        {
#pragma omp single
            {
                waits();
                groups();
                chains();
                sums();
                locks();
                cancelled();
                threads();
                CHECK(tree(5) == 32);
            }
            /* All threads create some, and a barrier waits for them. */
            int me = omp_get_thread_num();
#pragma omp master
            clear();
#pragma omp barrier
            if (me < MANY)
#pragma omp task firstprivate(me)
            {
                pause_briefly();
#pragma omp task firstprivate(me)
                cells[me].value = me + 5;
            }
#pragma omp barrier
            if (me < MANY)
                CHECK(cells[me].value == me + 5);
#pragma omp barrier
        }
    }
    return check_result();
}
