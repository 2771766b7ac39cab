/* Rank 0 deals tasks to the other ranks, a new one to each that sends back its last (Gropp, Lusk,
 * Skjellum: "Using MPI", section 3.6: self-scheduling).
 *
 * `coarse` has tasks of about a millisecond: rank 0 does nothing but wait. Cause: unequal work of
 * ranks. `fine` has tasks of less than a microsecond. Cause: too many small messages. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TASK = 1, END = 2, TASKS_COARSE = 200, TASKS_FINE = 800 };

static uint32_t steps;

/* A number that takes `steps` dependent steps to compute. */
static uint64_t work(uint32_t task) {
    uint32_t sums[4] = {0};
#pragma omp parallel for
    for (int part = 0; part < 4; part++) {
        uint32_t one = task + part;
        for (uint32_t i = 0; i < steps; i++)
            one = one * 1664525u + 1013904223u;
        sums[part] = one;
    }
    return (uint64_t)sums[0] + sums[1] + sums[2] + sums[3];
}

static uint64_t deal(int ranks, uint32_t tasks) {
    uint64_t sum = 0, result;
    uint32_t dealt = 0, done = 0;
    MPI_Status status;
    for (int to = 1; to < ranks; to++, dealt++)
        MPI_Send(&dealt, 1, MPI_UINT32_T, to, TASK, MPI_COMM_WORLD);
    while (done < tasks) {
        MPI_Recv(&result, 1, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        sum += result;
        done++;
        int is_end = dealt >= tasks;
        MPI_Send(&dealt, 1, MPI_UINT32_T, status.MPI_SOURCE, is_end ? END : TASK, MPI_COMM_WORLD);
        dealt += !is_end;
    }
    return sum;
}

static void serve(void) {
    uint32_t task;
    MPI_Status status;
    for (;;) {
        MPI_Recv(&task, 1, MPI_UINT32_T, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == END)
            return;
        uint64_t result = work(task);
        MPI_Send(&result, 1, MPI_UINT64_T, 0, TASK, MPI_COMM_WORLD);
    }
}

/* The sum of all results. A task's part p begins with task + p, and steps are affine, so that the
 * factors of all steps together give it. */
static uint64_t expected(uint32_t tasks) {
    uint32_t factor = 1, added = 0;
    for (uint32_t i = 0; i < steps; i++) {
        factor *= 1664525u;
        added = added * 1664525u + 1013904223u;
    }
    uint64_t sum = 0;
    for (uint32_t task = 0; task < tasks; task++)
        for (uint32_t part = 0; part < 4; part++)
            sum += (uint32_t)(factor * (task + part) + added);
    return sum;
}

int main(int count, char **words) {
    int rank, ranks, provided, is_right = 1;
    MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int is_fine = count > 1 && strcmp(words[1], "fine") == 0;
    steps = is_fine ? 20 : 150000;
    uint32_t tasks = is_fine ? TASKS_FINE : TASKS_COARSE;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0)
        serve();
    else if (ranks > 1)
        is_right = deal(ranks, tasks) == expected(tasks);
    if (rank == 0)
        printf("%s\n", is_right ? "right" : "wrong");
    MPI_Finalize();
    return is_right ? 0 : 1;
}
