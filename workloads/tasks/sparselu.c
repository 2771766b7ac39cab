/* Factorises a sparse matrix of blocks, a task for each block and step, with a wait between steps.
 *
 * One thread creates all tasks; those of a step use the blocks that those before have written.
 */
#include "tasks.h"
#include <stdlib.h>

enum { EDGE = 160 };

typedef double block[EDGE][EDGE];

static block **blocks; /* NULL: all zero */
static block *store;
static long used;

static size_t bytes(long n)
{
    return (size_t)n * (size_t)n * (sizeof *store + sizeof *blocks);
}

static int is_full(long n, long i, long j)
{
    long off = i > j ? i - j : j - i;
    return off <= 1 || i == 0 || j == 0 || (i * 7 + j * 3) % 5 == 0 || (off == n / 2);
}

static block *new_block(void)
{
    long number;
#pragma omp atomic capture
    number = used++;
    return &store[number];
}

static void prepare(long n)
{
    if (store == NULL) {
        store = workload_allocate((size_t)n * (size_t)n * sizeof *store);
        blocks = workload_allocate((size_t)n * (size_t)n * sizeof *blocks);
    }
    used = 0;
    unsigned state = 1;
    for (long at = 0; at < n * n; at++) {
        long i = at / n, j = at % n;
        blocks[at] = NULL;
        if (!is_full(n, i, j))
            continue;
        block *new = new_block();
        for (long row = 0; row < EDGE; row++)
            for (long column = 0; column < EDGE; column++) {
                state = state * 1103515245u + 12345u;
                double value = (double)(state >> 16 & 0x7fff) / 32768.0;
                (*new)[row][column] = i == j && row == column ? value + 4.0 * EDGE * (double)n : value;
            }
        blocks[at] = new;
    }
    for (long at = used; at < n * n; at++)
        for (long row = 0; row < EDGE; row++)
            for (long column = 0; column < EDGE; column++)
                store[at][row][column] = 0.0;
}

static void factorise(block *d)
{
    for (long k = 0; k < EDGE; k++)
        for (long i = k + 1; i < EDGE; i++) {
            (*d)[i][k] /= (*d)[k][k];
            for (long j = k + 1; j < EDGE; j++)
                (*d)[i][j] -= (*d)[i][k] * (*d)[k][j];
        }
}

static void solve_right(block *restrict d, block *restrict b)
{
    for (long k = 0; k < EDGE; k++)
        for (long i = k + 1; i < EDGE; i++)
            for (long j = 0; j < EDGE; j++)
                (*b)[i][j] -= (*d)[i][k] * (*b)[k][j];
}

static void solve_below(block *restrict d, block *restrict b)
{
    for (long i = 0; i < EDGE; i++)
        for (long k = 0; k < EDGE; k++) {
            (*b)[i][k] /= (*d)[k][k];
            for (long j = k + 1; j < EDGE; j++)
                (*b)[i][j] -= (*b)[i][k] * (*d)[k][j];
        }
}

static void update(block *restrict below, block *restrict right, block *restrict b)
{
    for (long i = 0; i < EDGE; i++)
        for (long k = 0; k < EDGE; k++)
            for (long j = 0; j < EDGE; j++)
                (*b)[i][j] -= (*below)[i][k] * (*right)[k][j];
}

static void run(long n, long cutoff)
{
    (void)cutoff;
#pragma omp parallel
#pragma omp single
    for (long k = 0; k < n; k++) {
        factorise(blocks[k * n + k]);
        for (long j = k + 1; j < n; j++)
            if (blocks[k * n + j] != NULL)
#pragma omp task firstprivate(k, j)
                solve_right(blocks[k * n + k], blocks[k * n + j]);
        for (long i = k + 1; i < n; i++)
            if (blocks[i * n + k] != NULL)
#pragma omp task firstprivate(k, i)
                solve_below(blocks[k * n + k], blocks[i * n + k]);
#pragma omp taskwait
        for (long i = k + 1; i < n; i++)
            for (long j = k + 1; j < n; j++) {
                if (blocks[i * n + k] == NULL || blocks[k * n + j] == NULL)
                    continue;
                if (blocks[i * n + j] == NULL)
                    blocks[i * n + j] = new_block();
#pragma omp task firstprivate(k, i, j)
                update(blocks[i * n + k], blocks[k * n + j], blocks[i * n + j]);
            }
#pragma omp taskwait
    }
}

static double checksum(long n)
{
    double sum = 0.0;
    for (long at = 0; at < n * n; at++)
        for (long row = 0; blocks[at] != NULL && row < EDGE; row++)
            for (long column = 0; column < EDGE; column++)
                sum += (*blocks[at])[row][column] * (double)(1 + (row + 2 * column + at) % 17);
    return sum;
}

const struct task_program task_program = {
    .name = "sparselu",
    .about = "LU factors of a sparse matrix of blocks",
    .parameter = "blocks",
    .set = {3, 5, 8, 12, 20},
    .cutoff = "of no meaning here",
    .cutoff_initial = 0,
    .cutoff_most = 1,
    .bytes = bytes,
    .prepare = prepare,
    .run = run,
    .checksum = checksum,
};
