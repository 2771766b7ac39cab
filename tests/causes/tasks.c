/* Tasks and iterations that bound how many threads help. chain: each task waits for the one before;
   wave: each waits for three of the step before, and few may run at once; last: the longest of 31
   tasks holds two fifths of the work; long: so does one of 40 iterations; tree: tasks that wait for
   those inside them, none of which is long. */
#include <stdio.h>
#include <string.h>

static double piece(int units)
{
    double x = units + 1.5;
    for (long k = 0; k < 400000L * units; k++)
        x = x * 0.9999 + 0.25;
    return x;
}

static double tree(int depth)
{
    if (depth == 0)
        return piece(8);
    double left, right;
#pragma omp task shared(left)
    left = tree(depth - 1);
#pragma omp task shared(right)
    right = tree(depth - 1);
#pragma omp taskwait
    return left + right;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "chain";
    double results[64] = {0}, sum = 0;
    if (strcmp(way, "chain") == 0) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 200; i++) {
#pragma omp task depend(inout : sum) shared(sum)
            sum += piece(2);
        }
    } else if (strcmp(way, "wave") == 0) {
#pragma omp parallel
#pragma omp single
        for (int step = 0; step < 200; step++) {
#pragma omp task depend(out : results[0]) depend(in : results[1])
            results[0] += piece(2);
#pragma omp task depend(out : results[1]) depend(in : results[0])
            results[1] += piece(2);
        }
    } else if (strcmp(way, "last") == 0) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 31; i++) {
#pragma omp task firstprivate(i)
            results[i] = piece(i < 30 ? 10 : 200);
        }
    } else if (strcmp(way, "long") == 0) {
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 40; i++)
            results[i] = piece(i == 11 ? 260 : 10);
    } else {
#pragma omp parallel
#pragma omp single
        sum = tree(6);
    }
    for (int i = 0; i < 64; i++)
        sum += results[i];
    printf("%.6f\n", sum);
    return 0;
}
