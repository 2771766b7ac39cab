/* Work too short for its construct.
   loops:   two short loops in each step of a simulation, inside one region;
   regions: a region of its own for each of many short loops. */
#include <stdio.h>
#include <string.h>

enum { CELLS = 256, STEPS = 6000 };
static float old[CELLS + 2], new[CELLS + 2];

int main(int argc, char **argv)
{
    int steps = STEPS;
    old[CELLS / 2] = 1;
    if (argc > 1 && strcmp(argv[1], "regions") == 0) {
        float peak = 0;
        for (int step = 0; step < steps; step++) {
            peak = 0;
#pragma omp parallel for reduction(max : peak) firstprivate(step)
            for (int i = 1; i <= CELLS; i++) {
                float x = old[i] * 0.5f + (float)(step & 3);
                new[i] = x;
                peak = x > peak ? x : peak;
            }
        }
        printf("%g\n", peak);
        return 0;
    }
#pragma omp parallel
    for (int step = 0; step < steps; step++) {
#pragma omp for schedule(static)
        for (int i = 1; i <= CELLS; i++)
            new[i] = 0.5f * old[i] + 0.25f * (old[i - 1] + old[i + 1]);
#pragma omp for schedule(static)
        for (int i = 1; i <= CELLS; i++)
            old[i] = new[i];
    }
    printf("%g\n", old[CELLS / 2]);
    return 0;
}
