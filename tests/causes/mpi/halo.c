/* A stencil on a grid that ranks divide into strips, with a halo of one row (Gropp, Lusk, Skjellum:
 * "Using MPI", chapter 4: the Poisson problem).
 *
 * `plain` exchanges rows and computes then. `overlap` begins to exchange, computes the inner rows,
 * waits, and computes the two rows at the border. Both have no cause. `points` sends each point of
 * a border in a message of its own. Cause: too many small messages. `whole` exchanges whole strips
 * where a row would do. Cause: large messages.
 *
 * The initial values are an eigenvector of the relaxation, so each step multiplies them by the same
 * known factor. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 512, COLUMNS = 512, ROW = COLUMNS + 2, STEPS = 300, STEPS_OF_POINTS = 5 };

static double *now, *next, *strip;
static int above, below;

static void relax(int first, int last) {
#pragma omp parallel for
    for (int y = first; y <= last; y++) {
        const double *here = now + y * ROW;
        for (int x = 1; x <= COLUMNS; x++)
            next[y * ROW + x] = 0.25 * (here[x - 1] + here[x + 1] + here[x - ROW] + here[x + ROW]);
    }
}

/* Begins to exchange rows of which each message holds so many points. Tags say whether a message
 * goes up or down. */
static int exchange(int points, MPI_Request *requests) {
    int others[] = {above, below}, open = 0;
    double *halos[] = {now, now + (ROWS + 1) * ROW}, *borders[] = {now + ROW, now + ROWS * ROW};
    for (int side = 0; side < 2; side++)
        for (int x = 1; others[side] != MPI_PROC_NULL && x <= COLUMNS; x += points) {
            MPI_Irecv(halos[side] + x, points, MPI_DOUBLE, others[side], 1 - side, MPI_COMM_WORLD, &requests[open++]);
            MPI_Isend(borders[side] + x, points, MPI_DOUBLE, others[side], side, MPI_COMM_WORLD, &requests[open++]);
        }
    return open;
}

/* Exchanges whole strips, and keeps the row at the border of each. */
static void exchange_whole(void) {
    enum { ALL = (ROWS + 2) * ROW };
    int others[] = {above, below}, border[] = {ROWS, 1}, halo[] = {0, ROWS + 1};
    for (int side = 0; side < 2; side++) {
        MPI_Sendrecv(now, ALL, MPI_DOUBLE, others[side], 0, strip, ALL, MPI_DOUBLE, others[side], 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (others[side] != MPI_PROC_NULL)
            memcpy(now + halo[side] * ROW, strip + border[side] * ROW, ROW * sizeof(double));
    }
}

int main(int count, char **words) {
    static MPI_Request requests[4 * COLUMNS];
    int rank, ranks, provided;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    const char *variant = count > 1 ? words[1] : "plain";
    int overlaps = strcmp(variant, "overlap") == 0;
    int is_whole = strcmp(variant, "whole") == 0;
    int points = strcmp(variant, "points") == 0 ? 1 : COLUMNS;
    int steps = points == 1 ? STEPS_OF_POINTS : STEPS;
    now = calloc((ROWS + 2) * ROW, sizeof(double));
    next = calloc((ROWS + 2) * ROW, sizeof(double));
    strip = calloc((ROWS + 2) * ROW, sizeof(double));
    double across = acos(-1) / (COLUMNS + 1), along = acos(-1) / (ROWS * ranks + 1);
    double sines[ROW];
    for (int x = 1; x <= COLUMNS; x++)
        sines[x] = sin(across * x);
    for (int y = 1; y <= ROWS; y++) {
        double of_row = sin(along * (rank * ROWS + y));
        for (int x = 1; x <= COLUMNS; x++)
            now[y * ROW + x] = sines[x] * of_row;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < steps; step++) {
        int open = is_whole ? 0 : exchange(points, requests);
        if (is_whole)
            exchange_whole();
        if (overlaps)
            relax(2, ROWS - 1);
        MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
        if (overlaps) {
            relax(1, 1);
            relax(ROWS, ROWS);
        } else {
            relax(1, ROWS);
        }
        double *swapped = now;
        now = next;
        next = swapped;
    }
    double factor = pow((cos(across) + cos(along)) / 2, steps), error = 0, largest;
    for (int y = 1; y <= ROWS; y++) {
        double of_row = factor * sin(along * (rank * ROWS + y));
        for (int x = 1; x <= COLUMNS; x++)
            error = fmax(error, fabs(now[y * ROW + x] - sines[x] * of_row));
    }
    MPI_Allreduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", largest < 1e-9 ? "right" : "wrong");
    MPI_Finalize();
    return largest < 1e-9 ? 0 : 1;
}
