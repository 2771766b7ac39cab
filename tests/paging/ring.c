/* MPI: ranks compute, pass memory around a ring and agree on sums.
   ring [ROUNDS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUES = 1 << 16 };

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double total = 0;
    for (int round = 0; round < rounds; round++) {
        /* Memory that nobody has touched yet. */
        double *values = malloc(VALUES * sizeof *values);
        double *taken = malloc(VALUES * sizeof *taken);
        for (int i = 0; i < VALUES; i++)
            values[i] = rank + i * 1e-3 + round;
        int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
        MPI_Sendrecv(values, VALUES, MPI_DOUBLE, next, 7, taken, VALUES, MPI_DOUBLE, before, 7,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double mine = 0, all;
        for (int i = 0; i < VALUES; i++)
            mine += taken[i];
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += all;
        free(values);
        free(taken);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("total %.6e on %d ranks\n", total, ranks);
    MPI_Finalize();
    return 0;
}
