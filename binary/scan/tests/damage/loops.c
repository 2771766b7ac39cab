/* A little of everything that a scan looks at. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static double work(const double *row, int n) {
    double sum = 0;
    for (int j = 0; j < n; j++)
        sum += row[j] * row[(j * 7) % n];
    return sum;
}

static int choose(int kind) {
    switch (kind) {
    case 0: return 3;
    case 1: return 14;
    case 2: return 15;
    case 3: return 92;
    case 4: return 65;
    case 5: return 35;
    default: abort();
    }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100;
    double *a = malloc(sizeof *a * n * n), total = 0;
    int *rows = malloc(sizeof *rows * (n + 1)), count = 0;
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i * n + j] = sin(i) * j;
#pragma omp parallel for reduction(+ : total) schedule(dynamic, 4)
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            total += work(a + i * n, j + 1);
#pragma omp parallel
    {
#pragma omp single
        rows[0] = omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < n; i++) {
            rows[i + 1] = choose(i % 6);
            for (int k = 0; k < rows[i + 1]; k++)
                a[(i * 31 + k * 17) % (n * n)] += 1;
        }
#pragma omp atomic
        count += rows[0];
    }
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 10; i++)
#pragma omp task firstprivate(i)
        a[i] = work(a, n);
    printf("%g %d\n", total, count);
    return 0;
}
