#include "size.h"
#include "data.h"
#include <string.h>

enum {
    MEDIUM = 2,
    EXTENT_MAX = 1 << 30, /* leaves room for sums of two indices in an int */
};

static bool is_extent(const struct polybench_kernel *kernel, int parameter)
{
    for (int a = 0; a < POLYBENCH_ARRAYS; a++)
        for (int d = 0; d < kernel->array[a].rank; d++)
            if (kernel->array[a].extent[d] == parameter)
                return true;
    return false;
}

/* The medium set with its extents, but not its time steps, times `factor`. */
static void scale(const struct polybench_kernel *kernel, double factor, int *n)
{
    for (int p = 0; p < POLYBENCH_PARAMETERS && kernel->parameter[p] != NULL; p++) {
        n[p] = kernel->set[MEDIUM][p];
        /* Three is the smallest grid with something inside its boundary. */
        if (is_extent(kernel, p))
            n[p] = larger(3, (int)(factor * n[p]));
    }
}

/* The largest shape like the medium one whose data fit into `bytes`, or the
 * smallest there is; false if an extent would get too large. */
static bool fit(const struct polybench_kernel *kernel, double bytes, int *n)
{
    int longest = 1;
    for (int p = 0; p < POLYBENCH_PARAMETERS; p++)
        longest = larger(longest, is_extent(kernel, p) ? kernel->set[MEDIUM][p] : 0);

    double low = 0.0, high = (double)EXTENT_MAX / longest;
    scale(kernel, high, n);
    if ((double)data_bytes(kernel, n) <= bytes)
        return false;
    while (high - low > 1e-12 * high) {
        double middle = 0.5 * (low + high);
        scale(kernel, middle, n);
        if ((double)data_bytes(kernel, n) <= bytes)
            low = middle;
        else
            high = middle;
    }
    scale(kernel, low, n);
    return true;
}

void size_parameters(const struct polybench_kernel *kernel, const struct program *program,
                     const struct request *request, int *n)
{
    int set = options_data_set(request);
    if (set >= 0) {
        memcpy(n, kernel->set[set], sizeof kernel->set[set]);
        return;
    }
    double bytes = options_cache_multiple(program, request);
    if (bytes <= 0.0)
        options_refuse(program, "there is no size '%s'", request->size);
    if (bytes >= (double)SIZE_MAX || !fit(kernel, bytes, n))
        options_refuse(program, "size '%s' is more than this kernel can be given", request->size);
}
