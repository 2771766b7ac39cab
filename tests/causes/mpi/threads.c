/* All threads of a rank call MPI in a region (Thakur and Gropp: "Test suite for evaluating
 * performance of multithreaded MPI communication").
 *
 * `multiple`: each thread sends small messages to its partner, a thread of the same rank where
 * there is one rank only, with MPI_THREAD_MULTIPLE. Cause: threads take turns at MPI's entry.
 * `locked`: each sends to its own rank inside of a critical section. Cause: the same, at the lock.
 * `one`: the first thread sends for all of them, after so many rounds: no such cause. */
#include <mpi.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 20000, WORDS = 64, STEPS = 1000, TOGETHER = 100 };

static uint32_t sent[WORDS * 64], received[WORDS * 64];

/* What a thread computes between rounds; lengths differ, so that threads do not meet in step. */
static uint32_t compute(uint32_t value, int thread) {
    int steps = STEPS + (value >> 8) % STEPS * (thread + 1);
    for (int i = 0; i < steps; i++)
        value = value * 1664525u + 1013904223u;
    return value;
}

/* A round of one thread: as many words as it has, to the other rank and back from it. */
static int round_of(int thread, int words, int to, uint32_t *from, uint32_t *into) {
    MPI_Request requests[2];
    MPI_Irecv(into, words, MPI_UINT32_T, to, thread, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, words, MPI_UINT32_T, to, thread, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return into[words - 1] == from[words - 1];
}

int main(int count, char **words) {
    int rank, ranks, provided, is_right = 1, all_right;
    MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int is_multiple = count > 1 && strcmp(words[1], "multiple") == 0;
    int is_locked = count > 1 && strcmp(words[1], "locked") == 0;
    if (is_multiple && provided < MPI_THREAD_MULTIPLE) {
        puts("MPI has no MPI_THREAD_MULTIPLE");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int to = ranks % 2 == 0 ? rank ^ 1 : rank;
#pragma omp parallel reduction(& : is_right)
    {
        int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        uint32_t value = thread;
        for (int i = 0; i < ROUNDS; i++) {
            value = compute(value, thread);
            uint32_t *own = sent + WORDS * thread;
            own[WORDS - 1] = value;
            if (is_multiple) {
                is_right &= round_of(thread, WORDS, to, own, received + WORDS * thread);
            } else if (is_locked) {
#pragma omp critical
                is_right &= round_of(thread, WORDS, rank, own, received + WORDS * thread);
            } else if (i % TOGETHER == 0) {
#pragma omp barrier
#pragma omp master
                is_right &= round_of(0, WORDS * threads, to, sent, received);
#pragma omp barrier
            }
        }
    }
    MPI_Allreduce(&is_right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", all_right ? "right" : "wrong");
    MPI_Finalize();
    return all_right ? 0 : 1;
}
