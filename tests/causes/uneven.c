/* Unequal work under a static schedule.
   triangle: rows grow; heavy: few of many rows are long; order: an ordered loop. */
#include <stdio.h>
#include <string.h>

static double row(int length)
{
    double x = 1;
    for (int k = 0; k < length; k++)
        x = x * 0.999 + 0.01 / (x + 1);
    return x;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "triangle";
    double sum = 0;
    for (int round = 0; round < 4; round++) {
        if (strcmp(way, "triangle") == 0) {
#pragma omp parallel for reduction(+ : sum) schedule(static)
            for (int i = 0; i < 1000; i++)
                sum += row(16 * i);
        } else if (strcmp(way, "heavy") == 0) {
#pragma omp parallel for reduction(+ : sum) schedule(static)
            for (int i = 0; i < 1000; i++)
                sum += row(i < 40 ? 150000 : 2000);
        } else {
#pragma omp parallel for ordered schedule(static, 1)
            for (int i = 0; i < 200; i++) {
                double mine = row(1000);
#pragma omp ordered
                sum = sum * 0.5 + mine + row(30000);
            }
        }
    }
    printf("%.6f\n", sum);
    return 0;
}
