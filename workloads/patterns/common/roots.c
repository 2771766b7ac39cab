#include "pattern.h"

/* The floating-point root may be off by one where words have more than 53 bits,
 * or a cube root is whole. */
size_t pattern_square_root(size_t words)
{
    size_t n = (size_t)sqrt((double)words);
    while (n * n > words)
        n--;
    return n;
}

size_t pattern_cube_root(size_t words)
{
    size_t n = (size_t)cbrt((double)words) + 1;
    while (n * n * n > words)
        n--;
    return n;
}
