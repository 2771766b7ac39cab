/* What keeping memory consistent between nodes costs, event by event.
 *
 *     prices faults PAGES ROUNDS LIMIT_MS
 *     prices writes PAGES ROUNDS LIMIT_MS
 *     prices sync REPS ROUNDS LIMIT_MS
 *
 * Plain OpenMP with one thread on each node; see README.md. The procedure of
 * `faults` is that of J. Cai, A. P. Rendell, P. E. Strazdins, H. J. Wong,
 * "Performance Models for Cluster-Enabled OpenMP Implementations", ACSAC 2008.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "json.h"
#include "pages.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALL_BYTES 0x0101010101010101 /* added to a word, it changes every byte */
#define ROUNDS_MIN 3
#define SAMPLES_MAX 6 /* a thread's kinds of samples */
#define WRONG_USAGE 2

static volatile uint64_t *shared;
static size_t words;    /* in the shared array and in each private one */
static long rounds;     /* wanted */
static long done;       /* rounds that were measured */
static double limit_ns; /* on all rounds together */
static int stop;        /* written before a barrier, read after it */

/* By kind and round; filled at the end, because writing here is shared too. */
static double *samples[SAMPLES_MAX];

/* Memory that is this process's own; the heap is shared. */
static void *map_private(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fputs("there is not enough memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Pages whose home is the node that asks for them, none of them touched. */
static volatile uint64_t *fresh_pages(size_t size)
{
    uint64_t *pages = aligned_alloc(PAGE_BYTES, size * sizeof(uint64_t));
    if (!pages) {
        fputs("there is not enough memory\n", stderr);
        exit(1);
    }
    return pages;
}

/* The same, all of them zeroed. */
static volatile uint64_t *zeroed_pages(size_t size)
{
    volatile uint64_t *pages = fresh_pages(size);
    memset((void *)pages, 0, size * sizeof(uint64_t));
    return pages;
}

/* Until all have come out of a barrier: a thread may leave it before what it has sent is where it
 * belongs. */
static double time_meeting(void)
{
    double start = wall_ns();
#pragma omp barrier
#pragma omp barrier
    return wall_ns() - start;
}

/* How much longer that takes than the same once more. */
static double longer_meeting(void)
{
    double time = time_meeting();
    return time - time_meeting();
}

/* A thread's samples, out of everybody's way until the end. */
struct own {
    double *kind[SAMPLES_MAX];
    long count;
};

static struct own own_samples(void)
{
    struct own own = {.count = 0};
    for (int kind = 0; kind < SAMPLES_MAX; kind++)
        own.kind[kind] = map_private((size_t)(rounds + 1) * sizeof(double));
    return own;
}

/* Whether all begin another round; a barrier. The first round is for warming up. */
static int another_round(long round, double began_ns)
{
    int late = round > ROUNDS_MIN && wall_ns() - began_ns > limit_ns;
    if (omp_get_thread_num() == 0 && (round > rounds || late))
        stop = 1;
#pragma omp barrier
    return !stop;
}

enum { LOCAL_WRITE, WRITE_HERE, FETCH, REMOTE_WRITE, DIFFS, READ_THERE };

static void keep(const struct own *own, int first, int last, long count)
{
    for (int kind = first; kind <= last; kind++)
        memcpy(samples[kind], own->kind[kind] + 1, (size_t)count * sizeof(double));
}

/* The array's home is node 0, where it was allocated. */
static long faults(void)
{
    long wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        volatile uint64_t *private = map_private(words * sizeof(uint64_t));
        struct own own = own_samples();
        double began_ns = wall_ns();
        uint64_t sum;
        write_half(private, words, 1);
        long round = 0;
        for (; another_round(round, began_ns); round++) {
            uint64_t value = ALL_BYTES * (uint64_t)(2 * round + 1);
            if (me < 2)
                read_all(shared, words);
#pragma omp barrier
            if (me == 0) {
                own.kind[WRITE_HERE][round] = time_write(private, words, value);
                own.kind[LOCAL_WRITE][round] = time_write(shared, words, value);
            }
#pragma omp barrier
            if (me == 1) {
                own.kind[READ_THERE][round] = time_read(private, words, &sum);
                own.kind[FETCH][round] = time_read(shared, words, &sum);
                wrong += sum != value * (words / 2);
                double write = time_write(shared, words, value + ALL_BYTES);
                own.kind[REMOTE_WRITE][round] = write - time_write(private, words, value);
            }
            own.kind[DIFFS][round] = longer_meeting();
            if (me == 0)
                wrong += read_all(shared, words) != (value + ALL_BYTES) * (words / 2);
        }
        if (me == 0) {
            done = round - 1;
            keep(&own, LOCAL_WRITE, WRITE_HERE, round - 1);
        } else if (me == 1) {
            keep(&own, FETCH, READ_THERE, round - 1);
        }
    }
    for (long r = 0; r < done; r++) {
        samples[LOCAL_WRITE][r] -= samples[WRITE_HERE][r];
        samples[FETCH][r] -= samples[READ_THERE][r];
    }
    return wrong;
}

/* Pages that follow each other are fetched together, and told of together; of these
 * every second one is used. */
static void write_apart(volatile uint64_t *pages, size_t size, uint64_t value)
{
    for (size_t at = 0; at < size; at += 2 * PAGE_WORDS)
        pages[at] = value;
}

static double time_read_apart(volatile uint64_t *pages, size_t size, uint64_t value, long *wrong)
{
    double start = wall_ns();
    for (size_t at = 0; at < size; at += 2 * PAGE_WORDS)
        *wrong += pages[at] != value;
    return wall_ns() - start;
}

enum { EXCLUSIVE, REWRITE, AHEAD, APART };

/* Three arrays whose home is node 0, which writes them again and again: one that
 * nobody else has ever seen, and two that node 1 reads each time. */
static long writes(void)
{
    long wrong = 0;
    volatile uint64_t *alone = zeroed_pages(words);
    volatile uint64_t *apart = zeroed_pages(2 * words);
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        volatile uint64_t *private = map_private(words * sizeof(uint64_t));
        struct own own = own_samples();
        double began_ns = wall_ns();
        uint64_t sum;
        write_half(private, words, 1);
        long round = 0;
        for (; another_round(round, began_ns); round++) {
            uint64_t value = ALL_BYTES * (uint64_t)(round + 1);
            if (me == 0) {
                double bare = time_write(private, words, value);
                own.kind[EXCLUSIVE][round] = time_write(alone, words, value) - bare;
                own.kind[REWRITE][round] = time_write(shared, words, value) - bare;
                write_apart(apart, 2 * words, value);
            }
#pragma omp barrier
            if (me == 1) {
                double bare = time_read(private, words, &sum);
                own.kind[AHEAD][round] = time_read(shared, words, &sum) - bare;
                wrong += sum != value * (words / 2);
                own.kind[APART][round] = time_read_apart(apart, 2 * words, value, &wrong);
            }
        }
        if (me == 0) {
            done = round - 1;
            keep(&own, EXCLUSIVE, REWRITE, round - 1);
        } else if (me == 1) {
            keep(&own, AHEAD, APART, round - 1);
        }
    }
    return wrong;
}

enum { BARRIER, LOCK, FLUSH, CROWD_HALF, AT_WORK };

/* All threads ask for one lock: the time between two grants. */
static double time_locks(omp_lock_t *lock, long reps)
{
    double start = wall_ns();
    for (long r = 0; r < reps; r++) {
        omp_set_lock(lock);
        omp_unset_lock(lock);
    }
#pragma omp barrier
    return (wall_ns() - start) / omp_get_num_threads();
}

static double time_flushes(long reps)
{
    double start = wall_ns();
    for (long r = 0; r < reps; r++) {
#pragma omp flush
    }
    return wall_ns() - start;
}

/* Words that hold so many pages with one between them that is not used. */
static size_t words_apart(long pages)
{
    return 2 * (size_t)pages * PAGE_WORDS;
}

/* All threads but the first change, of each of so many pages in a row, of their own part, whose
 * home is node 0, every other one of its first words: how much longer two barriers take. */
static double time_diffs(volatile uint64_t *pages, size_t part, long count, size_t first,
                         uint64_t value, long *wrong)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads();
    size_t size = (size_t)count * PAGE_WORDS;
    for (size_t at = 0; me > 0 && at < size; at += PAGE_WORDS)
        for (size_t i = 0; i < first; i += 2)
            pages[part * (size_t)(me - 1) + at + i] = value;
    double time = longer_meeting();
    for (int other = 1; me == 0 && other < team; other++)
        for (size_t at = 0; at < size; at += PAGE_WORDS)
            *wrong += pages[part * (size_t)(other - 1) + at] != value;
#pragma omp barrier
    return time;
}

/* As long as this, unless it stands still at a barrier. */
static void work_for(double ns)
{
    double start = wall_ns();
    while (wall_ns() - start < ns)
        __asm__ volatile("" ::: "memory");
}

/* Pages from one that is used to the next, where none is to come with another. */
#define FAR_PAGES 16

static double time_read_far(volatile uint64_t *pages, long count, uint64_t value, long *wrong)
{
    double start = wall_ns();
    for (long page = 0; page < count; page++)
        *wrong += pages[(size_t)page * FAR_PAGES * PAGE_WORDS] != value;
    return wall_ns() - start;
}

/* Thread 0 changes pages of its own node, and then computes, at least twice as long as all
 * others take to read as many at once, while thread 1 reads them. No node has read these before,
 * so that none comes before it is asked for. */
static double time_at_work(volatile uint64_t *pages, long count, uint64_t value, double work_ns,
                           long *wrong)
{
    int me = omp_get_thread_num();
    for (long page = 0; me == 0 && page < count; page++)
        pages[(size_t)page * FAR_PAGES * PAGE_WORDS] = value;
#pragma omp barrier
    double fetch = 0;
    if (me == 0) {
        work_for(2 * work_ns);
    } else if (me == 1) {
        fetch = time_read_far(pages, count, value, wrong);
        fetch -= time_read_far(pages, count, value, wrong);
    }
#pragma omp barrier
    return fetch;
}

/* Thread 0 changes pages of its own node, which then all others read at once. */
static void read_same(volatile uint64_t *pages, size_t size, uint64_t value, long *wrong)
{
    int me = omp_get_thread_num();
    if (me == 0)
        write_apart(pages, size, value);
#pragma omp barrier
    if (me > 0)
        time_read_apart(pages, size, value, wrong);
#pragma omp barrier
}

/* All others than thread 0 read pages of its node, each its own part, and change at once a word
 * of one of them, and half of each: what each further page adds. */
static double time_halves(volatile uint64_t *pages, long reps, uint64_t value, long *wrong)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads();
    size_t part = words_apart(reps);
    if (me == 0)
        write_apart(pages, part * (size_t)(team - 1), value);
#pragma omp barrier
    if (me > 0)
        time_read_apart(pages + part * (size_t)(me - 1), part, value, wrong);
    double first = time_diffs(pages, part, 1, 1, value + ALL_BYTES, wrong);
    double halves = time_diffs(pages, part, reps, PAGE_WORDS, value + 2 * ALL_BYTES, wrong);
    return (halves - first) / (reps > 1 ? (double)(reps - 1) : 1);
}

static long sync(long reps)
{
    static omp_lock_t lock;
    long wrong = 0;
    volatile uint64_t *crowded = zeroed_pages(words_apart(reps) * (size_t)omp_get_max_threads());
    volatile uint64_t *same = zeroed_pages(words_apart(reps));
    size_t far = (size_t)reps * FAR_PAGES * PAGE_WORDS;
    volatile uint64_t *unseen = fresh_pages((size_t)(rounds + 2) * far);
    omp_init_lock(&lock);
    double began_ns = wall_ns();
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), last = me == omp_get_num_threads() - 1;
        struct own own = own_samples();
        long round = 0;
        for (; another_round(round, began_ns); round++) {
            double start = wall_ns();
            for (long r = 0; r < reps; r++) {
#pragma omp barrier
            }
            own.kind[BARRIER][round] = (wall_ns() - start) / (double)reps;
            own.kind[LOCK][round] = time_locks(&lock, reps) / (double)reps;
            own.kind[FLUSH][round] = time_flushes(reps) / (double)reps;
            uint64_t value = ALL_BYTES * (uint64_t)(4 * round + 1);
            own.kind[CROWD_HALF][round] = time_halves(crowded, reps, value, &wrong);
            double all = wall_ns();
            read_same(same, words_apart(reps), value, &wrong);
            all = wall_ns() - all;
            value += ALL_BYTES;
            own.kind[AT_WORK][round] =
                time_at_work(unseen + far * (size_t)round, reps, value, all, &wrong) / (double)reps;
        }
        if (last) {
            done = round - 1;
            keep(&own, BARRIER, CROWD_HALF, done);
        }
        if (me == 1)
            keep(&own, AT_WORK, AT_WORK, round - 1);
    }
    return wrong;
}

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value > 0 && value <= 1000000 ? value : 0;
}

static void print_per_page(const char *name, double *times_ns)
{
    for (long r = 0; r < done; r++)
        times_ns[r] /= (double)(words / PAGE_WORDS);
    json_array(name, times_ns, done);
}

int main(int argc, char **argv)
{
    long size = argc == 5 ? number(argv[2]) : 0;
    rounds = argc == 5 ? number(argv[3]) : 0;
    limit_ns = argc == 5 ? (double)number(argv[4]) * 1e6 : 0;
    int is_faults = argc == 5 && strcmp(argv[1], "faults") == 0;
    int is_writes = argc == 5 && strcmp(argv[1], "writes") == 0;
    int is_sync = argc == 5 && strcmp(argv[1], "sync") == 0;
    if (!size || !rounds || limit_ns <= 0 || (!is_faults && !is_writes && !is_sync)) {
        fputs("usage: prices faults|writes PAGES ROUNDS LIMIT_MS\n"
              "       prices sync REPS ROUNDS LIMIT_MS\n",
              stderr);
        return WRONG_USAGE;
    }
    int threads = omp_get_max_threads();
    if (threads < 2) {
        fputs("prices are those of 2 or more threads: set OMP_NUM_THREADS\n", stderr);
        return WRONG_USAGE;
    }
    for (int kind = 0; kind < SAMPLES_MAX; kind++)
        if (!(samples[kind] = calloc((size_t)rounds + 1, sizeof(double))))
            return 1;
    words = (size_t)size * PAGE_WORDS;
    shared = zeroed_pages(words);
    long wrong = is_faults ? faults() : is_writes ? writes() : sync(size);
    printf("{\"threads\":%d,\"wrong\":%ld", threads, wrong);
    if (is_faults) {
        print_per_page("local_write_ns", samples[LOCAL_WRITE]);
        print_per_page("remote_write_ns", samples[REMOTE_WRITE]);
        print_per_page("fetch_ns", samples[FETCH]);
        print_per_page("diff_to_home_ns", samples[DIFFS]);
    } else if (is_writes) {
        print_per_page("exclusive_write_ns", samples[EXCLUSIVE]);
        print_per_page("written_again_ns", samples[REWRITE]);
        print_per_page("fetch_in_order_ns", samples[AHEAD]);
        print_per_page("fetch_apart_ns", samples[APART]);
    } else {
        json_array("barrier_ns", samples[BARRIER], done);
        json_array("lock_ns", samples[LOCK], done);
        json_array("flush_ns", samples[FLUSH], done);
        json_array("crowd_half_ns", samples[CROWD_HALF], done);
        json_array("at_work_ns", samples[AT_WORK], done);
    }
    printf("}\n");
    return 0;
}
