/* The arrays of FT and its Fourier transform. */
#ifndef FATHOMP_FT_H
#define FATHOMP_FT_H

#include "npb.h"

#define FT_NX NPB_BY_CLASS(64, 128, 256, 512, 512)
#define FT_NY NPB_BY_CLASS(64, 128, 256, 256, 512)
#define FT_NZ NPB_BY_CLASS(64, 32, 128, 256, 512)
#define FT_ITERATIONS NPB_BY_CLASS(6, 6, 6, 20, 20)
#define FT_MAX_N NPB_BY_CLASS(64, 128, 256, 512, 512) /* the longest of the three */
#define FT_POINTS ((double)FT_NX * FT_NY * FT_NZ)

/* C99's complex product may call a function that looks after infinities; this
 * type has none. */
struct ft_complex {
    double re, im;
};

/* One row: a point more than is used, lest the points of a column, which are a
 * power of two apart, share a few sets of the cache. */
typedef struct ft_complex ft_row[FT_NX + 1];
typedef ft_row ft_plane[FT_NY];

/* Computes the roots of unity that ft_transform needs. */
void ft_prepare(void);

/* The three-dimensional transform of `field` in its place, not scaled: forward
 * with sign = -1, backward with sign = 1. Called by all threads of a team
 * together; ends with a barrier. The forward one goes through x, y, z, the
 * backward one through z, y, x. */
void ft_transform(int sign, ft_plane *field);

#endif
