/* Sweeps over a grid that ranks divide into strips of rows: each row follows from the one before,
 * so each rank waits for the rank before, and sweeps go down and up by turns (Hoisie, Lubeck,
 * Wasserman: "Performance and scalability analysis of teraflop-scale parallel architectures using
 * multidimensional wavefront applications").
 *
 * `whole` sends a row when all of the strip is done: only one rank computes at a time. Cause: late
 * senders. `blocks` sends it in 32 blocks of columns, so that the next rank begins earlier: no cause.
 *
 * Each element is an affine function of the one before, so a column's values are known. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 8192, SWEEPS = 10, STEPS = 30 };

/* What all elements of a rank's strip make of a value that comes to it. */
static uint32_t through(uint32_t value, int64_t times) {
    for (int64_t i = 0; i < times; i++)
        value = value * 1664525u + 1013904223u;
    return value;
}

static void compute(uint32_t *row, int first, int end) {
#pragma omp parallel for
    for (int x = first; x < end; x++)
        row[x] = through(row[x], ROWS * STEPS);
}

int main(int count, char **words) {
    int rank, ranks, provided;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int width = COLUMNS / (count > 1 && strcmp(words[1], "blocks") == 0 ? 32 : 1);
    uint32_t *row = calloc(COLUMNS, sizeof(uint32_t));
    int is_right = 1, all_right;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        int step = sweep % 2 ? -1 : 1;
        int before = rank - step, behind = rank + step;
        int is_first = before < 0 || before >= ranks, is_last = behind < 0 || behind >= ranks;
        for (int x = 0; x < COLUMNS; x += width) {
            if (is_first)
                for (int i = x; i < x + width; i++)
                    row[i] = i + sweep;
            else
                MPI_Recv(row + x, width, MPI_UINT32_T, before, sweep, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            compute(row, x, x + width);
            if (!is_last)
                MPI_Send(row + x, width, MPI_UINT32_T, behind, sweep, MPI_COMM_WORLD);
        }
        int strips = step > 0 ? rank + 1 : ranks - rank;
        for (int x = 0; x < COLUMNS; x += 1024)
            is_right &= row[x] == through(x + sweep, (int64_t)strips * ROWS * STEPS);
    }
    MPI_Allreduce(&is_right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", all_right ? "right" : "wrong");
    MPI_Finalize();
    return all_right ? 0 : 1;
}
