/* Three equal pieces of work: more than three threads cannot help. unlike: of three sections one is
   four times as long as the others. final: two tasks, and those inside them are part of them. */
#include <stdio.h>
#include <string.h>

static double piece(int seed)
{
    double x = seed + 1.5;
    for (int k = 0; k < 20000000; k++)
        x = x * 0.9999 + 0.25;
    return x;
}

int main(int argc, char **argv)
{
    double results[3] = {0, 0, 0};
    const char *way = argc > 1 ? argv[1] : "dynamic";
    if (strcmp(way, "dynamic") == 0) {
        /* Three chunks of four iterations. */
#pragma omp parallel for schedule(dynamic, 4)
        for (int i = 0; i < 12; i++)
            if (i % 4 == 0)
                results[i / 4] = piece(i);
    } else if (strcmp(way, "static") == 0) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < 3; i++)
            results[i] = piece(i);
    } else if (strcmp(way, "guided") == 0) {
#pragma omp parallel
        {
#pragma omp for schedule(guided)
            for (int i = 0; i < 3; i++)
                results[i] = piece(i);
        }
    } else if (strcmp(way, "tasks") == 0) {
#pragma omp parallel
#pragma omp master
        {
            for (int i = 0; i < 3; i++) {
#pragma omp task firstprivate(i)
                results[i] = piece(i);
            }
#pragma omp taskwait
        }
    } else if (strcmp(way, "taskloop") == 0) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1)
        for (int i = 0; i < 3; i++)
            results[i] = piece(i);
    } else if (strcmp(way, "unlike") == 0) {
#pragma omp parallel sections
        {
#pragma omp section
            for (int turn = 0; turn < 4; turn++)
                results[0] += piece(turn);
#pragma omp section
            results[1] = piece(1);
#pragma omp section
            results[2] = piece(2);
        }
    } else if (strcmp(way, "final") == 0) {
#pragma omp parallel
#pragma omp single
        for (int half = 0; half < 2; half++) {
#pragma omp task firstprivate(half) final(1)
            for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i, half)
                {
                    double result = piece(i + half);
#pragma omp atomic
                    results[half] += result;
                }
#pragma omp taskwait
            }
        }
    } else {
#pragma omp parallel
        {
#pragma omp sections
            {
#pragma omp section
                results[0] = piece(0);
#pragma omp section
                results[1] = piece(1);
#pragma omp section
                results[2] = piece(2);
            }
        }
    }
    printf("%.6f\n", results[0] + results[1] + results[2]);
    return 0;
}
