/* Smooths rows that are divided among ranks; each rank needs one row of each neighbour. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define WIDTH 2000
#define ROWS 500 /* of each rank */
#define ROUNDS 200

static double rows[ROWS][WIDTH], theirs[ROWS][WIDTH], next[ROWS][WIDTH];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int me, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int before = (me + ranks - 1) % ranks, behind = (me + 1) % ranks;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < WIDTH; j++)
            rows[i][j] = (i * 31 + j * 17 + me) % 100;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Sendrecv(rows, ROWS * WIDTH, MPI_DOUBLE, before, 0, theirs, ROWS * WIDTH, MPI_DOUBLE,
                     behind, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#pragma omp parallel for
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < WIDTH; j++)
                next[i][j] = (rows[i][j] + (i + 1 < ROWS ? rows[i + 1][j] : theirs[0][j])) / 2;
#pragma omp parallel for
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < WIDTH; j++)
                rows[i][j] = next[i][j];
    }
    if (me == 0)
        printf("corner %.6f\n", rows[0][0]);
    MPI_Finalize();
}
