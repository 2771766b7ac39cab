/* Reading a matrix or a cube in every order of its indices. */
#include "access.h"

/* One loop nest for all orders: only the strides differ, not the code. */
struct nest {
    size_t extent[3];
    size_t stride[3]; /* in elements; the innermost loop last */
};

static uint64_t *array;
static size_t elements;

static uint64_t sum_in_order(struct nest n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n.extent[0]; i++)
        for (size_t j = 0; j < n.extent[1]; j++) {
            const uint64_t *start = array + i * n.stride[0] + j * n.stride[1];
            for (size_t k = 0; k < n.extent[2]; k++) {
                sum += start[k * n.stride[2]];
                __asm__ volatile("" : "+r"(sum)); /* one load at a time, in any order */
            }
        }
    return sum;
}

static long sums(struct nest n, long reps)
{
    long wrong = 0;
    for (long j = 0; j < reps; j++)
        wrong += sum_in_order(n) != elements;
    return wrong;
}

static const char *provide(size_t count)
{
    elements = count;
    array = ones(count);
    return array ? NULL : NO_MEMORY;
}

static const char *provide_matrix(void)
{
    size_t n = (size_t)value[0];
    return n > 1000000 ? NO_MEMORY : provide(n * n);
}

static const char *provide_cube(void)
{
    size_t n = (size_t)value[0];
    return n > 10000 ? NO_MEMORY : provide(n * n * n);
}

/* The first index (I) has the longest stride, as in C. */
static long matrix(size_t outer, size_t inner, long reps)
{
    size_t n = (size_t)value[0];
    return sums((struct nest){{1, n, n}, {0, outer, inner}}, reps);
}

static long cube(size_t outer, size_t middle, size_t inner, long reps)
{
    size_t n = (size_t)value[0];
    return sums((struct nest){{n, n, n}, {outer, middle, inner}}, reps);
}

#define STRIDE_I (size_t)(value[0] * value[0])
#define STRIDE_J (size_t)value[0]
#define STRIDE_K (size_t)1

static long matrix_ij(long reps) { return matrix((size_t)value[0], 1, reps); }
static long matrix_ji(long reps) { return matrix(1, (size_t)value[0], reps); }
static long cube_ijk(long reps) { return cube(STRIDE_I, STRIDE_J, STRIDE_K, reps); }
static long cube_ikj(long reps) { return cube(STRIDE_I, STRIDE_K, STRIDE_J, reps); }
static long cube_jik(long reps) { return cube(STRIDE_J, STRIDE_I, STRIDE_K, reps); }
static long cube_jki(long reps) { return cube(STRIDE_J, STRIDE_K, STRIDE_I, reps); }
static long cube_kij(long reps) { return cube(STRIDE_K, STRIDE_I, STRIDE_J, reps); }
static long cube_kji(long reps) { return cube(STRIDE_K, STRIDE_J, STRIDE_I, reps); }

static double bytes(void) { return (double)elements * sizeof(uint64_t); }
static double accesses(void) { return (double)elements; }

/* Powers of 2 beside round numbers: the first map a column to few sets of a
 * cache. */
static const struct parameter matrix_extent = {
    .name = "extent",
    .symbol = "n",
    .unit = "elements",
    .values = (const long[]){64, 128, 256, 500, 512, 1000, 1024, 2000, 2048, 4000, 4096, 0},
    .quick = (const long[]){128, 1000, 1024, 0},
};

static const struct parameter cube_extent = {
    .name = "extent",
    .symbol = "n",
    .unit = "elements",
    .values = (const long[]){16, 32, 64, 100, 128, 200, 256, 0},
    .quick = (const long[]){32, 100, 128, 0},
};

#define ORDER(row_name, extent, memory, function)                                      \
    {.name = row_name, .parameters = {&extent}, .prepare = memory, .run = function,    \
     .bytes = bytes, .accesses = accesses}

static const struct row order_rows[] = {
    ORDER("2D IJ", matrix_extent, provide_matrix, matrix_ij),
    ORDER("2D JI", matrix_extent, provide_matrix, matrix_ji),
    ORDER("3D IJK", cube_extent, provide_cube, cube_ijk),
    ORDER("3D IKJ", cube_extent, provide_cube, cube_ikj),
    ORDER("3D JIK", cube_extent, provide_cube, cube_jik),
    ORDER("3D JKI", cube_extent, provide_cube, cube_jki),
    ORDER("3D KIJ", cube_extent, provide_cube, cube_kij),
    ORDER("3D KJI", cube_extent, provide_cube, cube_kji),
    {.name = NULL},
};

ENTER_ROWS("order", order_rows);
