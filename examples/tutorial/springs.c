/* Moves masses on springs: force, acceleration, speed and place are a loop each. */
#include <stdio.h>

#define MASSES 16000000
#define STEPS 40

static double place[MASSES], speed[MASSES], mass[MASSES], force[MASSES], acceleration[MASSES];

int main(void)
{
    const double stiffness = 2, time = 0.01;
#pragma omp parallel for
    for (int i = 0; i < MASSES; i++) {
        place[i] = i % 100;
        mass[i] = 1 + i % 7;
        speed[i] = force[i] = acceleration[i] = 0;
    }
    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for
        for (int i = 0; i < MASSES; i++)
            force[i] = -stiffness * place[i];
#pragma omp parallel for
        for (int i = 0; i < MASSES; i++)
            acceleration[i] = force[i] / mass[i];
#pragma omp parallel for
        for (int i = 0; i < MASSES; i++)
            speed[i] += acceleration[i] * time;
#pragma omp parallel for
        for (int i = 0; i < MASSES; i++)
            place[i] += speed[i] * time;
    }
    printf("places %.6f and %.6f\n", place[1], place[MASSES - 1]);
}
