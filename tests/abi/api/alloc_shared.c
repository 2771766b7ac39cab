// Memory of allocators is the program's: whoever allocated it, all threads reach it, and
// another may give it back.
#include "check.h"
#include <omp.h>

enum { N = 20000 };

static void use(omp_allocator_handle_t allocator)
{
    int *numbers = omp_alloc(N * sizeof *numbers, allocator);
    int *zeroes = omp_calloc(N, sizeof *zeroes, allocator);
    CHECK(numbers && zeroes);
    long sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        CHECK_EQ(zeroes[i], 0);
        numbers[i] = i;
        zeroes[i] = N - i;
    }
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++)
        sum += numbers[N - 1 - i] + zeroes[N - 1 - i];
    CHECK_EQ(sum, (long)N * N);
    numbers = omp_realloc(numbers, 2 * N * sizeof *numbers, allocator, allocator);
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        CHECK_EQ(numbers[i], i);
        numbers[N + i] = i;
    }
    for (int i = 0; i < N; i++)
        CHECK_EQ(numbers[N + i], i);
    omp_free(numbers, allocator);
    omp_free(zeroes, allocator);

    // Each thread's own, for its neighbour.
    char *rows[64] = {0};
    int threads = 0;
#pragma omp parallel shared(rows, threads)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        rows[me] = omp_alloc(5000, allocator);
        memset(rows[me], me + 1, 5000);
#pragma omp single
        threads = all;
        char *next = rows[(me + 1) % all];
        for (int i = 0; i < 5000; i++)
            CHECK_EQ(next[i], (me + 1) % all + 1);
#pragma omp barrier
        omp_free(next, allocator);
    }
    CHECK(threads >= 1);
}

int main(void)
{
    use(omp_default_mem_alloc);
    use(omp_large_cap_mem_alloc);
    omp_alloctrait_t wide[] = {{omp_atk_alignment, 64}};
    omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space, 1, wide);
    use(allocator);
    omp_destroy_allocator(allocator);
    printf("done\n");
    return check_result();
}
