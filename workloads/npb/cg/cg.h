/* CG's sizes and its matrix. */
#ifndef FATHOMP_CG_H
#define FATHOMP_CG_H

#include "npb.h"

/* Order of the matrix. */
#define ROWS NPB_BY_CLASS(1400, 7000, 14000, 75000, 150000)
/* Random entries of each vector whose outer product the matrix sums. */
#define NONZEROS NPB_BY_CLASS(7, 8, 11, 13, 15)
/* Subtracted from the diagonal: the eigenvalue sought is the one next to it. */
#define SHIFT NPB_BY_CLASS(10.0, 12.0, 20.0, 60.0, 110.0)
/* With the entry set on the diagonal. */
#define VECTOR_ENTRIES (NONZEROS + 1)
/* Bound on the entries of the matrix: no product overlaps another. */
#define MATRIX_ENTRIES (ROWS * VECTOR_ENTRIES * VECTOR_ENTRIES)

/* The matrix in compressed rows, columns rising: row j is the entries
 * row_start[j] up to row_start[j + 1]. */
extern int row_start[ROWS + 1];
extern int column[MATRIX_ENTRIES];
extern double entry[MATRIX_ENTRIES];

/* Builds the matrix. Rows are first touched by the thread that a loop over
 * rows with schedule(static) gives them to. */
void make_matrix(void);

#endif
