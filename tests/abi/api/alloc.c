// fathomp: clang 15 does not know the modifier of allocate
// Allocators: predefined, with traits, null and default, from many threads.
#include "check.h"
#include <omp.h>
#include <stdint.h>

int main(void)
{
    static const omp_allocator_handle_t predefined[] = {
        omp_null_allocator,     omp_default_mem_alloc, omp_large_cap_mem_alloc, omp_const_mem_alloc,
        omp_high_bw_mem_alloc,  omp_low_lat_mem_alloc, omp_cgroup_mem_alloc,    omp_pteam_mem_alloc,
        omp_thread_mem_alloc,
    };
    for (size_t i = 0; i < sizeof predefined / sizeof predefined[0]; i++) {
        char *p = omp_alloc(100, predefined[i]);
        CHECK(p != NULL);
        if (p)
            memset(p, 1, 100);
        omp_free(p, i % 2 ? predefined[i] : omp_null_allocator);
        int *z = omp_calloc(25, sizeof(int), predefined[i]);
        CHECK(z != NULL);
        for (int k = 0; z && k < 25; k++)
            CHECK_EQ(z[k], 0);
        omp_free(z, predefined[i]);
    }
    CHECK_EQ(omp_get_default_allocator(), omp_default_mem_alloc);
    CHECK(omp_alloc(0, omp_default_mem_alloc) == NULL);
    omp_free(NULL, omp_default_mem_alloc);

    // Alignment.
    for (size_t align = 1; align <= 4096; align *= 2) {
        char *p = omp_aligned_alloc(align, 3 * align, omp_default_mem_alloc);
        CHECK(p != NULL && (uintptr_t)p % align == 0);
        if (p)
            memset(p, 3, 3 * align);
        omp_free(p, omp_null_allocator);
        char *z = omp_aligned_calloc(align, 4, align, omp_default_mem_alloc);
        CHECK(z != NULL && (uintptr_t)z % align == 0);
        for (size_t k = 0; z && k < 4 * align; k++)
            CHECK_EQ(z[k], 0);
        omp_free(z, omp_default_mem_alloc);
    }
    omp_alloctrait_t aligned[] = {{omp_atk_alignment, 256}};
    omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 1, aligned);
    CHECK(a != omp_null_allocator);
    char *p = omp_alloc(33, a);
    CHECK(p != NULL && (uintptr_t)p % 256 == 0);
    strcpy(p, "kept");
    p = omp_realloc(p, 3000, a, a);
    CHECK(p != NULL && (uintptr_t)p % 256 == 0 && strcmp(p, "kept") == 0);
    p = omp_realloc(p, 10, omp_default_mem_alloc, a);
    CHECK(p != NULL && strcmp(p, "kept") == 0);
    CHECK(omp_realloc(p, 0, a, omp_default_mem_alloc) == NULL);
    p = omp_realloc(NULL, 40, a, omp_null_allocator);
    CHECK(p != NULL);
    omp_free(p, a);
    omp_destroy_allocator(a);

    // A pool has an end, and the fallback says what happens there.
    omp_alloctrait_t pool[] = {{omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    a = omp_init_allocator(omp_default_mem_space, 2, pool);
    CHECK(a != omp_null_allocator);
    void *first = omp_alloc(3000, a), *second = omp_alloc(3000, a);
    CHECK(first != NULL);
    CHECK(second == NULL);
    omp_free(first, a);
    second = omp_alloc(3000, a);
    CHECK(second != NULL);
    omp_free(second, a);
    omp_alloctrait_t chained[] = {
        {omp_atk_pool_size, 1024},
        {omp_atk_fallback, omp_atv_allocator_fb},
        {omp_atk_fb_data, (omp_uintptr_t)a},
    };
    omp_allocator_handle_t b = omp_init_allocator(omp_default_mem_space, 3, chained);
    CHECK(b != omp_null_allocator);
    first = omp_alloc(2000, b);
    CHECK(first != NULL);
    CHECK(omp_alloc(4000, b) == NULL);
    omp_free(first, b);
    omp_destroy_allocator(b);
    omp_destroy_allocator(a);

    // Traits that make no sense are refused.
    omp_alloctrait_t wrong[] = {{omp_atk_alignment, 3}};
    CHECK_EQ(omp_init_allocator(omp_default_mem_space, 1, wrong), omp_null_allocator);
    omp_alloctrait_t none[] = {{omp_atk_sync_hint, 99}};
    CHECK_EQ(omp_init_allocator(omp_default_mem_space, 1, none), omp_null_allocator);

    // Default allocator of a task.
    omp_alloctrait_t wide[] = {{omp_atk_alignment, 128}, {omp_atk_sync_hint, omp_atv_contended},
                               {omp_atk_access, omp_atv_all}, {omp_atk_partition, omp_atv_nearest},
                               {omp_atk_pinned, omp_atv_false}, {omp_atk_fallback, omp_atv_default_mem_fb}};
    a = omp_init_allocator(omp_default_mem_space, 6, wide);
    CHECK(a != omp_null_allocator);
    omp_set_default_allocator(a);
    CHECK_EQ(omp_get_default_allocator(), a);
#pragma omp parallel
    {
        CHECK_EQ(omp_get_default_allocator(), a);
        for (int i = 1; i < 300; i++) {
            char *mine = omp_alloc(i, omp_null_allocator);
            CHECK(mine != NULL && (uintptr_t)mine % 128 == 0);
            memset(mine, i, i);
            omp_free(mine, omp_null_allocator);
        }
    }
    omp_set_default_allocator(omp_default_mem_alloc);
    omp_destroy_allocator(a);

    // The allocate clause.
    long sum = 0;
    int x = 5, y[10] = {0};
#pragma omp parallel allocate(omp_default_mem_alloc : x) allocate(align(64) : y) firstprivate(x, y) reduction(+ : sum)
    {
        y[9] = x;
        CHECK((uintptr_t)y % 64 == 0);
        sum += y[9];
    }
    CHECK_EQ(sum, 5L * omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
