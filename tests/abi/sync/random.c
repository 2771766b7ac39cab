// Random programs without data races, in which every thread knows what it has to read. From one
// barrier to the next a word belongs to one thread, or is only read; most words of a page often
// belong to the same thread. Threads flush and lock now and then, and hand on what they wrote in
// chains of flags, for which they wait in loops of their own.
//
//     random [FIRST_SEED [SEEDS]]
#include "check.h"
#include <omp.h>
#include <stdint.h>

enum { PHASES = 24, PAGES = 48, WORDS = 24, LOCKS = 4, COUNTERS = 8, CHAINS = 3 };
enum { PAGE_WORDS = 1024, THREADS_MAX = 64, NOBODY = -1 };

static volatile uint32_t memory[PAGES][PAGE_WORDS] __attribute__((aligned(4096)));
static volatile int handed_on[THREADS_MAX];
static volatile uint32_t counters[LOCKS][COUNTERS * 8];
static omp_lock_t locks[LOCKS];
static uint64_t seed;
static int threads;

// What is random about something.
enum about { PLACE, OWNER, OWN_WORD, WRITES, VALUE, FEW_VALUES, WALK, ORDER, READS, CHAIN, ROUND };

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    return x ^ x >> 32;
}

static unsigned chance(enum about about, int first, int second, int third)
{
    uint64_t x = mixed(seed + 1) + (uint64_t)about;
    x = mixed(x) + (uint64_t)first;
    x = mixed(x) + (uint64_t)second;
    return (unsigned)(mixed(mixed(x) + (uint64_t)third) >> 32);
}

static volatile uint32_t *word_of(int page, int word)
{
    return &memory[page][42 * word + chance(PLACE, page, word, 0) % 40];
}

// Whose a word is until the next barrier.
static int owner(int phase, int page, int word)
{
    unsigned of_page = chance(OWNER, phase, page, 0), of_word = chance(OWN_WORD, phase, page, word);
    if (of_page % 4 != 0 && of_word % 8 != 0)
        return (int)((of_page >> 8) % (unsigned)threads);
    return of_word % 3 == 0 ? NOBODY : (int)((of_word >> 8) % (unsigned)threads);
}

static int is_written(int phase, int page, int word)
{
    return owner(phase, page, word) != NOBODY && chance(WRITES, phase, page, word) % 3 != 0;
}

// What its owner writes: in some pages what is often there already.
static uint32_t written(int phase, int page, int word)
{
    uint32_t few = chance(FEW_VALUES, phase, page, 0) % 3 == 0;
    return chance(VALUE, phase, page, word) & (few ? 1 : UINT32_MAX);
}

// What a word is at the beginning of a phase, and at its end.
static uint32_t at_begin(int phase, int page, int word)
{
    while (--phase >= 0)
        if (is_written(phase, page, word))
            return written(phase, page, word);
    return 0;
}

static uint32_t at_end(int phase, int page, int word)
{
    return at_begin(phase + 1, page, word);
}

static void count_under_lock(unsigned which, long sums[LOCKS])
{
    omp_set_lock(&locks[which]);
    for (int i = 0; i < COUNTERS; i++)
        counters[which][8 * i]++;
    omp_unset_lock(&locks[which]);
    sums[which]++;
}

// Reads what the thread may read, from some page on, and synchronises in between.
static void read_some(int phase, int me, long sums[LOCKS])
{
    int first = (int)(chance(WALK, phase, 0, 0) % PAGES);
    for (int i = 0; i < PAGES; i++) {
        int page = (first + (me % 2 ? PAGES - i : i)) % PAGES;
        unsigned what = chance(WALK, phase, page, me + 1);
        if (what % 3 == 0)
            continue;
        for (int word = 0; word < WORDS; word++) {
            int whose = owner(phase, page, word);
            unsigned reads = chance(READS, phase, page, word * THREADS_MAX + me);
            if ((whose == NOBODY && reads % 4 == 0) || (whose == me && reads % 2 == 0))
                CHECK_EQ(*word_of(page, word), at_begin(phase, page, word));
        }
        if ((what >> 8) % 16 == 0) {
#pragma omp flush
        }
        if ((what >> 16) % 12 == 0)
            count_under_lock((what >> 24) % LOCKS, sums);
    }
}

static void write_all(int phase, int me)
{
    for (int i = 0; i < PAGES; i++) {
        unsigned what = chance(ORDER, phase, i, me);
        int page = chance(ORDER, phase, PAGES, me) % 2 ? i : PAGES - 1 - i;
        for (int word = 0; word < WORDS; word++) {
            if (owner(phase, page, word) != me || !is_written(phase, page, word))
                continue;
            if ((what >> word % 16) % 4 == 0)
                *word_of(page, word) = ~written(phase, page, word);
            *word_of(page, word) = written(phase, page, word);
        }
        if ((what >> 16) % 24 == 0) {
#pragma omp flush
        }
    }
}

// Where a thread is in a chain, which begins at any of them.
static int position(int thread, unsigned begin)
{
    return (int)(((unsigned)thread + begin) % (unsigned)threads);
}

// One thread after the other sees what all before it have written.
static void hand_on(int phase, int me)
{
    for (int chain = 0; chain < CHAINS; chain++) {
        unsigned begin = chance(CHAIN, phase, chain, 0) % (unsigned)threads;
        int mine = position(me, begin), turn = phase * CHAINS + chain + 1;
        if (mine > 0) {
            volatile int *before = &handed_on[(me + threads - 1) % threads];
            if (chain == 1) {
                while (*before < turn) {
#pragma omp flush
                }
            } else {
                while (*before < turn)
                    ;
            }
        }
        for (int i = 0; i < 40; i++) {
            unsigned which = chance(ROUND, phase, chain, i * THREADS_MAX + me);
            int page = (int)(which % PAGES), word = (int)((which >> 16) % WORDS);
            int whose = owner(phase, page, word);
            if (whose != NOBODY && position(whose, begin) <= mine)
                CHECK_EQ(*word_of(page, word), at_end(phase, page, word));
        }
        handed_on[me] = turn;
    }
}

static void run(long sums[LOCKS])
{
    int me = omp_get_thread_num();
    for (int phase = 0; phase < PHASES; phase++) {
        read_some(phase, me, sums);
        write_all(phase, me);
        if (chance(CHAIN, phase, 0, 1) % 3 == 0)
            hand_on(phase, me);
#pragma omp barrier
    }
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : 3;
    if (omp_get_max_threads() > THREADS_MAX)
        omp_set_num_threads(THREADS_MAX);
    for (int i = 0; i < LOCKS; i++)
        omp_init_lock(&locks[i]);
    for (seed = first; seed < first + seeds && check_result() == 0; seed++) {
        long sums[LOCKS] = {0};
        memset((void *)memory, 0, sizeof memory);
        memset((void *)handed_on, 0, sizeof handed_on);
        memset((void *)counters, 0, sizeof counters);
#pragma omp parallel reduction(+ : sums[ : LOCKS])
        {
#pragma omp single
            threads = omp_get_num_threads();
            run(sums);
        }
        for (int i = 0; i < LOCKS; i++)
            for (int j = 0; j < COUNTERS; j++)
                CHECK_EQ(counters[i][8 * j], sums[i]);
        if (check_result() != 0)
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    }
    printf("ok\n");
    return check_result();
}
