/* Pieces of work smaller than what it costs to hand them out.
   chunks: of a dynamic loop; tasks: a recursion that never stops dividing; undeferred, final: the
   same whose small tasks run at once, and still are tasks. */
#include <stdio.h>
#include <string.h>

static long leaves(int depth)
{
    if (depth == 0)
        return 1;
    long left, right;
#pragma omp task shared(left)
    left = leaves(depth - 1);
#pragma omp task shared(right)
    right = leaves(depth - 1);
#pragma omp taskwait
    return left + right;
}

static long undeferred(int depth)
{
    if (depth == 0)
        return 1;
    long left, right;
#pragma omp task shared(left) if (depth > 14)
    left = undeferred(depth - 1);
#pragma omp task shared(right) if (depth > 14)
    right = undeferred(depth - 1);
#pragma omp taskwait
    return left + right;
}

static long included(int depth)
{
    if (depth == 0)
        return 1;
    long left, right;
#pragma omp task shared(left) final(depth < 14)
    left = included(depth - 1);
#pragma omp task shared(right) final(depth < 14)
    right = included(depth - 1);
#pragma omp taskwait
    return left + right;
}

int main(int argc, char **argv)
{
    long sum = 0;
    if (argc > 1 && strcmp(argv[1], "tasks") == 0) {
#pragma omp parallel
#pragma omp single
        sum = leaves(17);
    } else if (argc > 1 && strcmp(argv[1], "undeferred") == 0) {
#pragma omp parallel
#pragma omp single
        sum = undeferred(21);
    } else if (argc > 1 && strcmp(argv[1], "final") == 0) {
#pragma omp parallel
#pragma omp single
        sum = included(22);
    } else {
        for (int round = 0; round < 3; round++) {
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
            for (int i = 0; i < 700000; i++)
                sum += i ^ round;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
