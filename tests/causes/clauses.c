/* Regions that get one thread. if: their clause is false for all sizes of a small problem; half:
   for every other one; inner: they lie in another region; recursion, sections: they divide a
   problem in two, and lie in each other; tasks: so does the clause of tasks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double a[4000];

static double step(int n)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) if (n > 1000)
    for (int i = 0; i < n; i++) {
        double x = a[i % 500];
        for (int k = 0; k < 200; k++)
            x = sin(x) + 0.1;
        sum += x;
    }
    return sum;
}

static long inner(int n)
{
    long total = 0;
#pragma omp parallel for collapse(2) reduction(+ : total)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            long sum = 0;
#pragma omp parallel for reduction(+ : sum)
            for (int k = 0; k < 100; k++)
                sum += (i ^ k) * (j ^ k);
            total += sum;
        }
    return total;
}

static void sort(int *values, int n)
{
    if (n < 400) {
        for (int i = 1; i < n; i++)
            for (int j = i; j > 0 && values[j - 1] > values[j]; j--) {
                int other = values[j];
                values[j] = values[j - 1];
                values[j - 1] = other;
            }
        return;
    }
    int pivot = values[n / 2], low = 0, high = n - 1;
    while (low <= high) {
        while (values[low] < pivot)
            low++;
        while (values[high] > pivot)
            high--;
        if (low <= high) {
            int other = values[low];
            values[low++] = values[high];
            values[high--] = other;
        }
    }
#pragma omp parallel for schedule(static)
    for (int half = 0; half < 2; half++)
        if (half == 0)
            sort(values, high + 1);
        else
            sort(values + low, n - low);
}

/* Doubles each of the first n values of a many times over, in two halves. */
static void grow(double *values, int n)
{
    if (n <= 500) {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 20000; k++)
                values[i] = values[i] * 0.9999 + 0.25;
        return;
    }
#pragma omp parallel sections
    {
#pragma omp section
        grow(values, n / 2);
#pragma omp section
        grow(values + n / 2, n - n / 2);
    }
}

static void spread(int least)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 400; i++) {
#pragma omp task firstprivate(i) if (i >= least)
        for (int k = 0; k < 100000; k++)
            a[i] = a[i] * 0.9999 + 0.25;
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "if";
    double sum = 0;
    for (int i = 0; i < 4000; i++)
        a[i] = i * 1e-3;
    if (strcmp(what, "if") == 0) {
        for (int round = 0; round < 200; round++)
            sum += step(500);
    } else if (strcmp(what, "half") == 0) {
        for (int round = 0; round < 100; round++)
            sum += step(round % 2 == 0 ? 1000 : 1001);
    } else if (strcmp(what, "inner") == 0) {
        sum = inner(400);
    } else if (strcmp(what, "sections") == 0) {
        grow(a, 4000);
        sum = a[3999];
    } else if (strcmp(what, "tasks") == 0) {
        spread(argc > 2 ? atoi(argv[2]) : 400);
        sum = a[399];
    } else {
        enum { COUNT = 2000000 };
        int *values = malloc(COUNT * sizeof *values);
        unsigned seed = 1;
        for (int i = 0; i < COUNT; i++)
            values[i] = (int)((seed = seed * 1103515245u + 12345u) >> 1);
        sort(values, COUNT);
        for (int i = 1; i < COUNT; i++)
            sum += values[i - 1] > values[i];
        free(values);
    }
    printf("%.6f\n", sum);
    return 0;
}
