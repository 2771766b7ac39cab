// One thread reads a page at the moment at which its neighbour writes it for the first time.
// Then both use another page only, and the first one is written elsewhere. On nodes these
// two are on the same node: they must see that.
#define _GNU_SOURCE
#include "check.h"
#include <omp.h>
#include <sched.h>

#define PAGES 32

struct page {
    _Alignas(4096) volatile int told;
    volatile int kept;
};

// Neighbours run at the same time, if there are processors for that.
static void move_to_own_processor(int me)
{
    cpu_set_t allowed, own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    int turn = me % CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && turn-- == 0)
            CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
}

int main(void)
{
    int threads = omp_get_max_threads(), rounds = 1000;
    // On a stack, whose pages stay with the thread that they belong to.
    struct page pages[PAGES] = {0}, other = {0};
    volatile int *volatile progress = NULL;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), reads = threads - 1, writes = threads > 1 ? threads - 2 : 0;
        int seen = 0;
        volatile int at = 0;
        move_to_own_processor(me);
        if (me == writes)
            progress = &at;
        for (int round = 1; round <= rounds; round++) {
            for (int page = 0; me == 0 && page < PAGES; page++)
                pages[page].told = round;
#pragma omp barrier
            if (me == reads)
                CHECK_EQ(pages[seen].told, round);
#pragma omp barrier
            for (int page = 0; me == writes && page < PAGES; page++) {
                at = page;
                pages[page].kept = round;
            }
            if (me == reads) {
                for (volatile int turn = 0; turn < round % 16 * 1000; turn++)
                    ;
                seen = *progress;
                CHECK_EQ(pages[seen].told, round);
            }
#pragma omp barrier
            if (me == reads)
                other.kept = other.told + 1;
#pragma omp barrier
        }
    }
    for (int page = 0; page < PAGES; page++)
        CHECK_EQ(pages[page].kept, rounds);
    printf("ok\n");
    return check_result();
}
