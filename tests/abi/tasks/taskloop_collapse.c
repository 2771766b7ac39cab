// Nests as one taskloop: bounds that are variables, triangles, downward loops, reductions,
// lastprivate, by one thread, by the last one and by all.
#include "check.h"
#include <omp.h>

enum { N = 24, M = 17, K = 5, ROUNDS = 5 };
static int seen[N][M][K];

static void written(int n, int m, int k)
{
    memset(seen, 0, sizeof seen);
#pragma omp parallel
#pragma omp single
#pragma omp taskloop collapse(3) grainsize(11)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int l = 0; l < k; l++)
                seen[i][j][l]++;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int l = 0; l < k; l++)
                CHECK_EQ(seen[i][j][l], 1);

#pragma omp parallel
#pragma omp single
#pragma omp taskloop collapse(2) num_tasks(9)
    for (int i = 0; i < 16; i++)
        for (int j = i; j < 16; j++)
            seen[i][j][0]++;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            CHECK_EQ(seen[i][j][0], 1 + (j >= i));
}

static void reduced(int n, int m, int round)
{
    long want = 0, sum = 0, all = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            want += i * j + round;
#pragma omp parallel master taskloop collapse(2) reduction(+ : sum) firstprivate(round)
    for (int i = 0; i < n; i++)
        for (unsigned j = 0; j < (unsigned)m; j++)
            sum += i * (int)j + round;
    CHECK_EQ(sum, want);

    sum = 0;
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
#pragma omp taskloop simd collapse(2) reduction(+ : sum) num_tasks(6)
        for (unsigned long long i = 0; i < 20; i++)
            for (unsigned long long j = ~0ULL; j > ~0ULL - 20; j--)
                sum++;
    }
    CHECK_EQ(sum, 400);

    int threads = 0;
#pragma omp parallel reduction(task, + : all) reduction(+ : threads)
    {
        long mine = 0;
        int me = omp_get_thread_num();
        threads++;
#pragma omp taskloop collapse(2) reduction(+ : mine)
        for (int i = 0; i < n; i++)
            for (int j = m; j > 0; j -= 2)
                mine += me + 1;
        CHECK_EQ(mine, (long)n * ((m + 1) / 2) * (me + 1));
#pragma omp taskloop collapse(2) in_reduction(+ : all)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                all++;
    }
    CHECK_EQ(all, (long)n * m * threads);
}

static void last(int n, int m)
{
    long last_i = -1, last_j = -1;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop collapse(2) lastprivate(last_i, last_j)
    for (long i = 0; i < n; i++)
        for (long j = 3; j < m; j++) {
            last_i = i;
            last_j = j;
        }
    CHECK_EQ(last_i, n - 1);
    CHECK_EQ(last_j, m - 1);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        written(N, M, K);
        reduced(N, M, round);
        last(N, M);
    }
    printf("ok\n");
    return check_result();
}
