/* Pieces of work smaller than what it costs to hand them out.
   chunks: of a dynamic loop; tasks: a recursion that never stops dividing. */
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

int main(int argc, char **argv)
{
    long sum = 0;
    if (argc > 1 && strcmp(argv[1], "tasks") == 0) {
#pragma omp parallel
#pragma omp single
        sum = leaves(17);
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
