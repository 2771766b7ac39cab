// fathomp: clang has no private arrays of variable length in tasks
// Regions inside of tasks and `target` constructs that have copies of variables: all
// threads of the region use the copy, also one that needs a function to be made.
#include "check.h"
#include <omp.h>

enum { N = 3000 };

static void in_task(int length)
{
    int from[N], sized[length], to[N];
    for (int i = 0; i < N; i++)
        from[i] = i;
    for (int i = 0; i < length; i++)
        sized[i] = 2 * i;
#pragma omp task firstprivate(from, sized) shared(to)
    {
#pragma omp parallel for shared(from, sized, to)
        for (int i = 0; i < N; i++) {
            to[i] = from[i] + sized[i % length];
            from[i] = -1;
        }
        for (int i = 0; i < N; i++)
            CHECK_EQ(from[i], -1);
    }
#pragma omp taskwait
    for (int i = 0; i < N; i++) {
        CHECK_EQ(from[i], i);
        CHECK_EQ(to[i], i + 2 * (i % length));
    }
}

static void in_target(void)
{
    struct { int numbers[N]; } copied;
    int to[N];
    for (int i = 0; i < N; i++)
        copied.numbers[i] = i;
#pragma omp target firstprivate(copied) map(from : to)
    {
#pragma omp parallel for shared(copied, to)
        for (int i = 0; i < N; i++) {
            to[i] = copied.numbers[i] + 1;
            copied.numbers[i] = -1;
        }
        for (int i = 0; i < N; i++)
            CHECK_EQ(copied.numbers[i], -1);
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(copied.numbers[i], i);
        CHECK_EQ(to[i], i + 1);
    }
}

static void in_both(void)
{
    int a[N], b[N], c[N];
    for (int i = 0; i < N; i++)
        a[i] = i, b[i] = 10;
#pragma omp task shared(c) firstprivate(a, b)
#pragma omp target map(from : c) map(to : a, b)
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        c[i] = a[i] + b[i];
#pragma omp taskwait
    for (int i = 0; i < N; i++)
        CHECK_EQ(c[i], i + 10);
}

static void in_taskloop(int length)
{
    int from[length], to[6][N];
    for (int i = 0; i < length; i++)
        from[i] = 3 * i;
#pragma omp taskloop firstprivate(from) shared(to) num_tasks(3)
    for (int k = 0; k < 6; k++) {
#pragma omp parallel for shared(from, to)
        for (int i = 0; i < N; i++)
            to[k][i] = from[i % length] + k;
    }
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < N; i++)
            CHECK_EQ(to[k][i], 3 * (i % length) + k);
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        in_task(700);
        in_task(2000);
        in_target();
        in_both();
        in_taskloop(50);
        in_taskloop(1500);
    }
    printf("done\n");
    return check_result();
}
