// An array of some megabytes on the stack of the program's first thread, which all threads
// write in several regions.
#include "check.h"
#include <omp.h>

enum { ROWS = 640, COLUMNS = 1024 };

int main(void)
{
    double rows[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            rows[i][k] = k;
    for (int round = 1; round <= 3; round++) {
#pragma omp parallel for
        for (int i = 0; i < ROWS; i++)
            for (int k = 0; k < COLUMNS; k++)
                rows[i][k] += i;
    }
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            CHECK(rows[i][k] == k + 3.0 * i);
    printf("done\n");
    return check_result();
}
