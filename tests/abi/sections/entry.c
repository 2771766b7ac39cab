// The entry points themselves, called by hand.
#include "check.h"
#include <omp.h>
#include <stdint.h>

extern unsigned GOMP_sections_start(unsigned);
extern unsigned GOMP_sections2_start(unsigned, uintptr_t *, void **);
extern unsigned GOMP_sections_next(void);
extern void GOMP_sections_end(void);
extern void GOMP_sections_end_nowait(void);

static int seen[200];

static void take(unsigned s)
{
    for (; s; s = GOMP_sections_next())
        __atomic_add_fetch(&seen[s], 1, __ATOMIC_RELAXED);
}

int main(void)
{
    static const unsigned counts[] = {0, 1, 2, 7, 150};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        for (int form = 0; form < 3; form++) {
            memset(seen, 0, sizeof seen);
#pragma omp parallel
            {
                if (form == 0) {
                    take(GOMP_sections_start(counts[c]));
                    GOMP_sections_end();
                } else if (form == 1) {
                    take(GOMP_sections_start(counts[c]));
                    GOMP_sections_end_nowait();
                } else {
                    take(GOMP_sections2_start(counts[c], NULL, NULL));
                    GOMP_sections_end();
                }
            }
            CHECK_EQ(seen[0], 0);
            for (unsigned s = 1; s <= counts[c]; s++)
                CHECK_EQ(seen[s], 1);
            CHECK_EQ(seen[counts[c] + 1], 0);
        }
    }
    printf("ok\n");
    return check_result();
}
