/* Work of one thread.
   outside: between regions; pages: the same, and most of it touches new memory; single: in a single
   construct inside one; master: the same, with a barrier. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double chain(double x, int thousands)
{
    for (int k = 0; k < thousands * 1000; k++)
        x = x * 0.99995 + 0.5;
    return x;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "outside";
    double x = 0, sum = 0;
    if (strcmp(way, "outside") == 0) {
        for (int turn = 0; turn < 10; turn++) {
            x = chain(x, 4000);
#pragma omp parallel for reduction(+ : sum)
            for (int i = 0; i < 40; i++)
                sum += chain(i + x, 150);
        }
    } else if (strcmp(way, "pages") == 0) {
        enum { BYTES = 64 << 20, PAGE = 4096 };
        for (int turn = 0; turn < 10; turn++) {
            char *pages = malloc(BYTES);
            if (pages == NULL)
                return 1;
            for (int i = 0; i < BYTES; i += PAGE)
                pages[i] = (char)(turn + i / PAGE);
#pragma omp parallel for reduction(+ : sum)
            for (int i = 0; i < 40; i++)
                sum += chain(pages[i * PAGE], 50);
            free(pages);
        }
    } else if (strcmp(way, "single") == 0) {
#pragma omp parallel reduction(+ : sum)
        for (int turn = 0; turn < 10; turn++) {
#pragma omp single
            x = chain(x, 4000);
#pragma omp for
            for (int i = 0; i < 40; i++)
                sum += chain(i + x, 150);
        }
    } else {
#pragma omp parallel reduction(+ : sum)
        for (int turn = 0; turn < 10; turn++) {
#pragma omp master
            x = chain(x, 4000);
#pragma omp barrier
#pragma omp for
            for (int i = 0; i < 40; i++)
                sum += chain(i + x, 150);
        }
    }
    printf("%.6f\n", sum);
    return 0;
}
