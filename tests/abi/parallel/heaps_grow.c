// Threads allocate while they write into each other's blocks, and again over what was freed.
#include "check.h"
#include <omp.h>

enum { MOST = 64, BYTES = 300000, LINE = 64 };
static char *block[MOST];

int main(void)
{
    int most = omp_get_max_threads() < MOST ? omp_get_max_threads() : MOST;
    for (int round = 0; round < 40; round++) {
#pragma omp parallel num_threads(most)
        {
            int me = omp_get_thread_num(), all = omp_get_num_threads();
            block[me] = malloc(BYTES + round * 4096);
            for (long i = 0; i < BYTES; i += LINE)
                block[me][i] = (char)me;
#pragma omp barrier
            for (int owner = 0; owner < all; owner++)
                for (long i = (long)me * LINE; i < BYTES; i += LINE * all)
                    block[owner][i + 1] = (char)(me + 1);
#pragma omp barrier
            for (int owner = 0; owner < all; owner++)
                for (long i = 0; i < BYTES; i += LINE)
                    if (block[owner][i] != owner || block[owner][i + 1] != i / LINE % all + 1)
                        check_failed(__FILE__, __LINE__, "a byte of a block");
#pragma omp barrier
            if (round % 3 == 0)
                free(block[me]);
        }
    }
    // Blocks that many small ones fill.
    long bytes = 0;
    for (int i = 0; i < 20000; i++) {
        char *small = malloc(i % 500 + 1);
        memset(small, 1, i % 500 + 1);
        bytes += small[i % 500];
    }
    printf("%ld\n", bytes);
    return check_result();
}
