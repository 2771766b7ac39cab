// Rows that follow from the row before, plane by plane. A flag for each row says that the next
// may be worked on, which takes it back. Nobody flushes but who waits, in his loop, or not even
// he; and most flags only one thread ever looks at and changes.
#include "check.h"
#include <omp.h>

enum { PLANES = 40, PASSES = 3, ROWS = 24, WORDS = 300 };

static volatile int ready[ROWS], there[ROWS];
static int plane[2][ROWS][WORDS];

// What a row becomes: from its own last state and the row before of this plane.
static int next(int own, int before, int i)
{
    return (own * 3 + before * 5 + i) & 0xffff;
}

static void flushing_until(volatile int *flag, int value)
{
    while (*flag != value) {
#pragma omp flush
    }
}

static void until(volatile int *flag, int value)
{
    while (*flag != value)
        ;
}

// Each of the rows in turn, by whomever.
static void sweep(int (*rows)[WORDS], volatile int *flags, void (*wait)(volatile int *, int))
{
#pragma omp for schedule(static) nowait
    for (int row = 0; row < ROWS; row++) {
        if (row > 0)
            wait(&flags[row - 1], 1);
        if (row < ROWS - 1)
            wait(&flags[row], 0);
        for (int i = 0; i < WORDS; i++)
            rows[row][i] = next(rows[row][i], row > 0 ? rows[row - 1][i] : 0, i);
        if (row < ROWS - 1)
            flags[row] = 1;
        if (row > 0)
            flags[row - 1] = 0;
    }
}

static int expected[ROWS][WORDS];

int main(void)
{
    for (int pass = 0; pass < PASSES; pass++)
        for (int p = 0; p < PLANES; p++)
            for (int row = 0; row < ROWS; row++)
                for (int i = 0; i < WORDS; i++)
                    expected[row][i] =
                        next(expected[row][i], row > 0 ? expected[row - 1][i] : 0, i);
    for (int pass = 0; pass < PASSES; pass++) {
#pragma omp parallel
        {
            for (int p = 0; p < PLANES; p++)
                sweep(plane[0], ready, flushing_until);
#pragma omp barrier
            for (int p = 0; p < PLANES; p++)
                sweep(plane[1], there, until);
        }
    }
    int wrong = 0;
    for (int which = 0; which < 2; which++)
        for (int row = 0; row < ROWS; row++)
            for (int i = 0; i < WORDS; i++)
                wrong += plane[which][row][i] != expected[row][i];
    CHECK_EQ(wrong, 0);
    printf("ok\n");
    return check_result();
}
