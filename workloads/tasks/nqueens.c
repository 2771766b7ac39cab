/* Counts the ways to put queens on a chess board so that none attacks another, by search.
 *
 * A task for each square of a row, down to the cut-off; each gets a copy of the board so far,
 * and leaves its count with the one that created it. The branches of the tree are unequal.
 */
#include "tasks.h"
#include <stdbool.h>

enum { MOST = 20 };

struct board {
    signed char column[MOST]; /* of the queen in each row */
};

static long found;

static bool is_free(const struct board *board, long row, long column)
{
    for (long above = 0; above < row; above++) {
        long other = board->column[above], away = row - above;
        if (other == column || other - column == away || column - other == away)
            return false;
    }
    return true;
}

static long serial(struct board *board, long row, long n)
{
    if (row == n)
        return 1;
    long count = 0;
    for (long column = 0; column < n; column++) {
        if (!is_free(board, row, column))
            continue;
        board->column[row] = (signed char)column;
        count += serial(board, row + 1, n);
    }
    return count;
}

static long parallel(struct board board, long row, long n, long cutoff)
{
    if (row == n || row >= cutoff)
        return serial(&board, row, n);
    long count[MOST] = {0};
    for (long column = 0; column < n; column++) {
        if (!is_free(&board, row, column))
            continue;
        board.column[row] = (signed char)column;
#pragma omp task firstprivate(board, column) shared(count)
        count[column] = parallel(board, row + 1, n, cutoff);
    }
#pragma omp taskwait
    long all = 0;
    for (long column = 0; column < n; column++)
        all += count[column];
    return all;
}

static void run(long n, long cutoff)
{
    struct board empty = {{0}};
#pragma omp parallel
#pragma omp single
    found = parallel(empty, 0, n, cutoff);
}

static double checksum(long n)
{
    (void)n;
    return (double)found;
}

const struct task_program task_program = {
    .name = "nqueens",
    .about = "Ways to put queens on a board",
    .parameter = "n",
    .set = {7, 10, 12, 13, 15},
    .cutoff = "row from which on there are no tasks",
    .cutoff_initial = 3,
    .cutoff_most = MOST,
    .run = run,
    .checksum = checksum,
};
