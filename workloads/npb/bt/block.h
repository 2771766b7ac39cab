/* Arithmetic on 5 x 5 blocks and columns, for all lanes. */
#ifndef FATHOMP_NPB_BT_BLOCK_H
#define FATHOMP_NPB_BT_BLOCK_H

#include "sweep.h"

#define M ADI_COMPONENTS

/* x -= a y */
static inline void subtract_column(lanes x[restrict M], lanes a[restrict M][M],
                                   const lanes y[restrict M])
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < M; k++)
            x[i] -= a[i][k] * y[k];
}

/* c -= a b */
static inline void subtract_product(lanes c[restrict M][M], lanes a[restrict M][M],
                                    lanes b[restrict M][M])
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < M; k++)
            for (int j = 0; j < M; j++)
                c[i][j] -= a[i][k] * b[k][j];
}

/* c = a^-1 c and x = a^-1 x, by elimination without pivoting: the diagonal
 * blocks are near the unit matrix. Destroys a. */
static inline void divide(lanes a[restrict M][M], lanes c[restrict M][M], lanes x[restrict M])
{
    for (int p = 0; p < M; p++) {
        const lanes inverse = 1.0 / a[p][p];
        for (int j = p + 1; j < M; j++)
            a[p][j] *= inverse;
        for (int j = 0; j < M; j++)
            c[p][j] *= inverse;
        x[p] *= inverse;
        for (int i = 0; i < M; i++) {
            if (i == p)
                continue;
            const lanes factor = a[i][p];
            for (int j = p + 1; j < M; j++)
                a[i][j] -= factor * a[p][j];
            for (int j = 0; j < M; j++)
                c[i][j] -= factor * c[p][j];
            x[i] -= factor * x[p];
        }
    }
}

#endif
