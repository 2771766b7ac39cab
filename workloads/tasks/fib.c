/* Computes a Fibonacci number by its definition: a tree of tasks that do next to nothing.
 *
 * Each task creates two and waits for them, down to the cut-off, below which it calls itself.
 * All that a runtime costs shows, for there is no other work and no memory.
 */
#include "tasks.h"

static long found;

static long serial(long n)
{
    return n < 2 ? n : serial(n - 1) + serial(n - 2);
}

static long parallel(long n, long depth, long cutoff)
{
    if (n < 2 || depth >= cutoff)
        return serial(n);
    long x, y;
#pragma omp task shared(x)
    x = parallel(n - 1, depth + 1, cutoff);
#pragma omp task shared(y)
    y = parallel(n - 2, depth + 1, cutoff);
#pragma omp taskwait
    return x + y;
}

static void run(long n, long cutoff)
{
#pragma omp parallel
#pragma omp single
    found = parallel(n, 0, cutoff);
}

static double checksum(long n)
{
    (void)n;
    return (double)found;
}

const struct task_program task_program = {
    .name = "fib",
    .about = "A Fibonacci number by its definition",
    .parameter = "n",
    .set = {24, 32, 37, 41, 45},
    .cutoff = "depth in the tree of tasks from which on there are none",
    .cutoff_initial = 10,
    .cutoff_most = 64,
    .run = run,
    .checksum = checksum,
};
