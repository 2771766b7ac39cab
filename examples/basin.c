/* basin: tides in a basin of shallow water.
 *
 * A small program in which every parallel region scales differently, for
 * trying fathomp on:
 *
 *   fill      a balanced loop that touches memory for the first time
 *   step      a balanced stencil; limited by memory bandwidth
 *   friction  a triangular loop under schedule(static): load imbalance
 *   shore     irregular work under schedule(dynamic): balanced, but every
 *             chunk has a price
 *   census    a critical section entered far too often
 *   deepest   a search by tasks
 *   tide      serial work between the regions
 *
 * usage: basin [SIZE [STEPS]]     default 1000 200
 *
 * Prints a checksum that does not depend on the number of threads.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLASSES = 16, SIZE_MAX_ALLOWED = 20000, STEPS_MAX_ALLOWED = 100000 };

static int size;                      /* cells in each direction */
static double *level, *next, *ground; /* water and ground, size x size */

static double *row(double *field, int i)
{
    return field + (size_t)i * (size_t)size;
}

static void fill(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            double x = (double)i / size - 0.5, y = (double)j / size - 0.5;
            row(ground, i)[j] = 4 * (x * x + y * y);
            row(level, i)[j] = 1 + 0.1 * sin(20 * x) * cos(20 * y);
            row(next, i)[j] = row(level, i)[j];
        }
}

/* The moon is not parallel. */
static double tide(int t)
{
    double pull = 0;
    for (int k = 1; k <= 40000; k++)
        pull += sin(0.01 * t * k) / ((double)k * k);
    return 1e-3 * pull;
}

static void step(double pull)
{
#pragma omp parallel for schedule(static)
    for (int i = 1; i < size - 1; i++)
        for (int j = 1; j < size - 1; j++) {
            const double *up = row(level, i - 1), *here = row(level, i), *down = row(level, i + 1);
            double around = up[j] + down[j] + here[j - 1] + here[j + 1];
            row(next, i)[j] = here[j] + 0.2 * (around - 4 * here[j]) + pull;
        }
    double *old = level;
    level = next;
    next = old;
}

/* Row i meets i columns: the last thread has most of the work. */
static void friction(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 1; i < size - 1; i++)
        for (int j = 1; j < i; j++) {
            double *cell = &row(level, i)[j];
            *cell -= 1e-6 * sqrt(fabs(*cell));
        }
}

/* How often a wave breaks depends on where it is. */
static long shore(void)
{
    long breakers = 0;
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : breakers)
    for (int i = 0; i < size; i++) {
        double wave = fabs(row(level, i)[size / 2]) + 0.1;
        int patience = 200 + 37 * i % 4001;
        for (int n = 0; n < patience; n++)
            wave = wave < 1 ? wave * 1.37 + 0.01 : wave - 0.93;
        breakers += patience + (wave > 0.5);
    }
    return breakers % 1000003;
}

/* A histogram that locks for every sample. */
static void census(long histogram[CLASSES])
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < size; i += 4)
        for (int j = 0; j < size; j += 32) {
            double depth = fabs(row(level, i)[j] - row(ground, i)[j]);
            int class = (int)(depth * CLASSES) % CLASSES;
#pragma omp critical(census)
            histogram[class]++;
        }
}

static double deepest_in(int from, int to)
{
    if (to - from > 32) {
        double low, high;
        int middle = from + (to - from) / 2;
#pragma omp task shared(low)
        low = deepest_in(from, middle);
        high = deepest_in(middle, to);
#pragma omp taskwait
        return low > high ? low : high;
    }
    double deepest = 0;
    for (int i = from; i < to; i++)
        for (int j = 0; j < size; j++) {
            double depth = sqrt(fabs(row(level, i)[j] - row(ground, i)[j]));
            deepest = depth > deepest ? depth : deepest;
        }
    return deepest;
}

static double deepest(void)
{
    double result = 0;
#pragma omp parallel
#pragma omp single
    result = deepest_in(0, size);
    return result;
}

static int argument(int argc, char **argv, int index, int otherwise, int most)
{
    if (argc <= index)
        return otherwise;
    char *end;
    long value = strtol(argv[index], &end, 10);
    if (*end || value < 3 || value > most) {
        fprintf(stderr, "usage: basin [SIZE [STEPS]], numbers from 3 to %d\n", most);
        exit(2);
    }
    return (int)value;
}

int main(int argc, char **argv)
{
    size = argument(argc, argv, 1, 1000, SIZE_MAX_ALLOWED);
    int steps = argument(argc, argv, 2, 200, STEPS_MAX_ALLOWED);
    size_t cells = (size_t)size * (size_t)size;
    level = malloc(cells * sizeof *level);
    next = malloc(cells * sizeof *next);
    ground = malloc(cells * sizeof *ground);
    if (!level || !next || !ground) {
        fprintf(stderr, "basin: not enough memory for %d x %d cells\n", size, size);
        return 1;
    }
    fill();
    double depth = 0;
    long breakers = 0, histogram[CLASSES] = { 0 };
    for (int t = 0; t < steps; t++) {
        step(tide(t));
        friction();
        breakers += shore();
        census(histogram);
        depth = deepest();
    }
    long sum = 0;
    for (int i = 0; i < CLASSES; i++)
        sum += i * histogram[i];
    printf("basin %d x %d, %d steps: depth %.9f, breakers %ld, census %ld\n", size, size, steps, depth,
           breakers, sum);
    free(level);
    free(next);
    free(ground);
    return 0;
}
