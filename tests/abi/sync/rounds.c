// Each thread writes its pages in the first phase of a round and reads those of the next thread
// in the second, again and again between flushes by which it learns something. On nodes pages are
// written unnoticed and taken back as in the rounds before, and in some rounds that is wrong:
// fewer pages are written, they are read once more, or written in another phase.
#include "check.h"
#include <omp.h>

#define PAGES 24
#define WORDS 1024
#define ROUNDS 160

struct page {
    _Alignas(4096) int words[WORDS];
};

static struct page pages[64][PAGES];
static struct page progress[64];
// The round in which each page was written last.
static int last[PAGES];

static int value(int round, int page)
{
    return round > 0 ? round * 100 + page : 0;
}

static int is_written(int round, int page)
{
    if (round % 40 >= 35)
        return 0;
    return page < PAGES / 2 || round % 20 < 15;
}

// All threads do so in the same rounds, and note it alike.
static void write_own(int me, int round, int written[PAGES])
{
    for (int page = 0; page < PAGES; page++) {
        if (!is_written(round, page))
            continue;
        for (int word = me; word < WORDS; word += 64)
            pages[me][page].words[word] = value(round, page);
        written[page] = round;
    }
}

static void read_next(int me, int next, int repetition, const int written[PAGES])
{
    for (int page = 0; page < PAGES; page++)
        for (int word = next; word < WORDS; word += 64)
            CHECK_EQ(pages[next][page].words[word], value(written[page], page));
    progress[me].words[repetition]++;
#pragma omp flush
}

int main(void)
{
    int threads = omp_get_max_threads();
    if (threads > 64)
        threads = 64;
#pragma omp parallel num_threads(threads)
    {
        int me = omp_get_thread_num(), next = (me + 1) % omp_get_num_threads();
        int written[PAGES] = {0};
        for (int round = 1; round <= ROUNDS; round++) {
            int late = round % 50 >= 45;
            if (!late)
                write_own(me, round, written);
#pragma omp barrier
            for (int repetition = 0; repetition < 3; repetition++)
                read_next(me, next, repetition, written);
#pragma omp barrier
            if (late)
                write_own(me, round, written);
            else if (round % 30 >= 25)
                read_next(me, next, 0, written);
#pragma omp barrier
        }
#pragma omp master
        memcpy(last, written, sizeof last);
    }
    for (int thread = 0; thread < threads; thread++)
        for (int page = 0; page < PAGES; page++)
            CHECK_EQ(pages[thread][page].words[thread], value(last[page], page));
    printf("ok\n");
    return check_result();
}
