/* A team of two, whatever the program is given.
   clause: by num_threads; call: by omp_set_num_threads; limit: by neither. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

static double series(int first)
{
    double sum = 0;
    for (int i = 1; i < 3000000; i++)
        sum += 1.0 / ((double)i + first);
    return sum;
}

int main(int argc, char **argv)
{
    double sum = 0;
    if (argc > 1 && strcmp(argv[1], "call") == 0) {
        omp_set_num_threads(2);
#pragma omp parallel for reduction(+ : sum) schedule(static, 1)
        for (int i = 0; i < 32; i++)
            sum += series(i);
    } else {
#pragma omp parallel for num_threads(2) reduction(+ : sum)
        for (int i = 0; i < 32; i++)
            sum += series(i);
    }
    printf("%.6f\n", sum);
    return 0;
}
