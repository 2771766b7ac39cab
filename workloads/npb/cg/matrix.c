/* CG's matrix (RNR-94-007, kernel CG): A = sum_i w_i x_i x_i^T + (0.1 - shift) I
 * with sparse random vectors x_i, whose element i is 1/2, and weights w_i that
 * fall geometrically from 1 to 0.1.
 *
 * The random numbers are one sequence with rejection, so the vectors are drawn
 * by one thread. Row j then is the sum of w_i x_i[j] x_i over the vectors that
 * have an element j, found in a transposed index; rows are merged in parallel,
 * once to learn their lengths and once into their places. The products of a
 * matrix entry are added in the order of i whatever the number of threads.
 */
#include "cg.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECIPROCAL_CONDITION 0.1
#define SEED UINT64_C(314159265)

/* Longest row before equal columns are added up; the vectors that share a row
 * are about VECTOR_ENTRIES, 4 times as many never occur. */
#define ROW_ENTRIES (4 * VECTOR_ENTRIES * VECTOR_ENTRIES)

int row_start[ROWS + 1];
int column[MATRIX_ENTRIES];
double entry[MATRIX_ENTRIES];

struct sparse_vector {
    double weight;
    int count;
    int index[VECTOR_ENTRIES]; /* rising */
    double value[VECTOR_ENTRIES];
};

struct sparse_row {
    int count;
    int column[ROW_ENTRIES];
    double value[ROW_ENTRIES];
};

static struct sparse_vector vectors[ROWS];

/* The transposed index: the vectors that have an element j are
 * sharing[sharing_start[j]] up to sharing_start[j + 1], rising. */
static int sharing_start[ROWS + 2];
static int sharing[ROWS * VECTOR_ENTRIES];

/* Sets element `index`, keeping the order. Says whether it was new; an old one
 * is only changed if `replace`. */
static int set_element(struct sparse_vector *x, int index, double value, int replace)
{
    int at = x->count;
    while (at > 0 && x->index[at - 1] >= index)
        at--;
    if (at < x->count && x->index[at] == index) {
        if (replace)
            x->value[at] = value;
        return 0;
    }
    for (int i = x->count; i > at; i--) {
        x->index[i] = x->index[i - 1];
        x->value[i] = x->value[i - 1];
    }
    x->index[at] = index;
    x->value[at] = value;
    x->count++;
    return 1;
}

static void draw_vectors(void)
{
    int range = 1; /* positions are drawn from a power of two, too large ones rejected */
    while (range < ROWS)
        range *= 2;
    double ratio = pow(RECIPROCAL_CONDITION, 1.0 / ROWS);
    double weight = 1.0;
    uint64_t state = SEED;
    npb_random(&state, NPB_MULTIPLIER); /* the specification discards the first */
    for (int i = 0; i < ROWS; i++) {
        struct sparse_vector *x = &vectors[i];
        x->weight = weight;
        x->count = 0;
        while (x->count < NONZEROS) {
            double value = npb_random(&state, NPB_MULTIPLIER);
            int index = (int)(range * npb_random(&state, NPB_MULTIPLIER));
            if (index < ROWS)
                set_element(x, index, value, 0);
        }
        set_element(x, i, 0.5, 1);
        weight *= ratio;
    }
}

/* Counting sort of the vectors' elements by their index. */
static void index_vectors(void)
{
    /* Counted two places to the right, summed up to be where the lists one to
     * the right start, and moved to their ends, which is where they belong, as
     * the lists are filled. */
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < vectors[i].count; k++)
            sharing_start[vectors[i].index[k] + 2]++;
    for (int j = 0; j < ROWS; j++) {
        if (sharing_start[j + 2] * VECTOR_ENTRIES > ROW_ENTRIES) {
            fprintf(stderr, "cg: row %d is longer than there is room for\n", j);
            exit(2);
        }
        sharing_start[j + 2] += sharing_start[j + 1];
    }
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < vectors[i].count; k++)
            sharing[sharing_start[vectors[i].index[k] + 1]++] = i;
}

static double element(const struct sparse_vector *x, int index)
{
    int k = 0;
    while (x->index[k] != index)
        k++;
    return x->value[k];
}

/* sum = row + x * scale. */
static void merge(const struct sparse_row *restrict row, const struct sparse_vector *restrict x,
                  double scale, struct sparse_row *restrict sum)
{
    int count = 0;
    int old = 0;
    for (int k = 0; k < x->count; k++) {
        for (; old < row->count && row->column[old] < x->index[k]; old++, count++) {
            sum->column[count] = row->column[old];
            sum->value[count] = row->value[old];
        }
        double product = x->value[k] * scale;
        sum->column[count] = x->index[k];
        if (old < row->count && row->column[old] == x->index[k])
            sum->value[count++] = row->value[old++] + product;
        else
            sum->value[count++] = product;
    }
    for (; old < row->count; old++, count++) {
        sum->column[count] = row->column[old];
        sum->value[count] = row->value[old];
    }
    sum->count = count;
}

/* Row `j`, in one of two rows of room; returns which. */
static const struct sparse_row *make_row(int j, struct sparse_row room[2])
{
    struct sparse_row *row = &room[0];
    struct sparse_row *sum = &room[1];
    row->count = 0;
    for (int s = sharing_start[j]; s < sharing_start[j + 1]; s++) {
        const struct sparse_vector *x = &vectors[sharing[s]];
        merge(row, x, x->weight * element(x, j), sum);
        struct sparse_row *swap = row;
        row = sum;
        sum = swap;
    }
    int diagonal = 0;
    while (row->column[diagonal] != j)
        diagonal++;
    row->value[diagonal] += RECIPROCAL_CONDITION - SHIFT;
    return row;
}

void make_matrix(void)
{
    draw_vectors();
    index_vectors();
#pragma omp parallel
    {
        struct sparse_row room[2];
#pragma omp for schedule(static)
        for (int j = 0; j < ROWS; j++)
            row_start[j + 1] = make_row(j, room)->count;
#pragma omp single
        for (int j = 0; j < ROWS; j++)
            row_start[j + 1] += row_start[j];
#pragma omp for schedule(static)
        for (int j = 0; j < ROWS; j++) {
            const struct sparse_row *row = make_row(j, room);
            size_t count = (size_t)row->count;
            memcpy(&column[row_start[j]], row->column, count * sizeof column[0]);
            memcpy(&entry[row_start[j]], row->value, count * sizeof entry[0]);
        }
    }
}
