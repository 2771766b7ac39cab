#include "size.h"
#include "cache.h"
#include "data.h"
#include <stdlib.h>
#include <string.h>

enum {
    MEDIUM = 2,
    EXTENT_MAX = 1 << 30, /* leaves room for sums of two indices in an int */
};

const char *const size_names[POLYBENCH_SETS] = {"mini", "small", "medium", "large", "extralarge"};

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

const char *size_parameters(const struct polybench_kernel *kernel, const char *text,
                            size_t cache_bytes, int *n)
{
    for (int s = 0; s < POLYBENCH_SETS; s++) {
        if (strcmp(text, size_names[s]) == 0) {
            memcpy(n, kernel->set[s], sizeof kernel->set[s]);
            return NULL;
        }
    }

    size_t digits = strspn(text, "0123456789.");
    char *end = NULL;
    double times = strtod(text, &end);
    if (digits == 0 || strcmp(text + digits, "x") != 0 || end != text + digits || times <= 0.0)
        return "is none of mini, small, medium, large, extralarge, nor like 4x";

    if (cache_bytes == 0)
        cache_bytes = cache_last_level_bytes();
    if (cache_bytes == 0)
        return "needs the size of the last-level cache, which this machine does not tell: "
               "give it with --llc BYTES";
    double bytes = times * (double)cache_bytes;
    if (bytes >= (double)SIZE_MAX || !fit(kernel, bytes, n))
        return "is more than this kernel can be given: choose a smaller one";
    return NULL;
}
