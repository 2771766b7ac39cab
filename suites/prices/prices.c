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
#define LOW_BYTES 0x0001010101010101 /* by exclusive or, all but the highest */
#define ROUNDS_MIN 3
#define SAMPLES_MAX 20 /* a thread's kinds of samples */
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

/* Pages whose home is the node that asks for them. */
static volatile uint64_t *zeroed_pages(size_t size)
{
    uint64_t *pages = aligned_alloc(PAGE_BYTES, size * sizeof(uint64_t));
    if (!pages) {
        fputs("there is not enough memory\n", stderr);
        exit(1);
    }
    memset(pages, 0, size * sizeof(uint64_t));
    return pages;
}

/* Until this thread has left a barrier, and until all have come out of it: a thread may leave it
 * before what it has sent is where it belongs. */
struct meeting {
    double own, all;
};

static struct meeting time_meeting(void)
{
    struct meeting time;
    double start = wall_ns();
#pragma omp barrier
    time.own = wall_ns() - start;
#pragma omp barrier
    time.all = wall_ns() - start;
    return time;
}

/* How much longer one takes than another, which comes after it. */
static struct meeting longer(struct meeting time)
{
    struct meeting bare = time_meeting();
    return (struct meeting){time.own - bare.own, time.all - bare.all};
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
            own.kind[DIFFS][round] = longer(time_meeting()).all;
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

enum {
    REGION,
    BARRIER,
    LOCK,
    FLUSH,
    UPDATE,
    LONE_UPDATE,
    LONE_FLUSH,
    LONE_FLUSH_DIFF,
    EXCHANGE,
    CROWD_FETCH,
    CROWD_SAME,
    FIRST_DIFF,
    CROWD_DIFF,
    CROWD_HALF,
    CROWD_WHOLE,
    CROWD_RAGGED,
    DIFF_SENT,
    WHOLE_SENT,
    NOTICE,
    AT_WORK
};

static double time_regions(long reps)
{
    double start = wall_ns();
    for (long r = 0; r < reps; r++) {
#pragma omp parallel
        __asm__ volatile("" ::: "memory");
    }
    return wall_ns() - start;
}

/* All threads ask for one lock, and add to what the one before has added to if there is
 * a sum: the time between two grants. */
static double time_locks(omp_lock_t *lock, volatile uint64_t *sum, long reps)
{
    double start = wall_ns();
    for (long r = 0; r < reps; r++) {
        omp_set_lock(lock);
        if (sum)
            *sum += 1;
        omp_unset_lock(lock);
    }
#pragma omp barrier
    return (wall_ns() - start) / omp_get_num_threads();
}

/* The same, with a sum, by the last thread alone, while all others wait at the barrier. */
static double time_lone_updates(omp_lock_t *lock, volatile uint64_t *sum, long reps)
{
    int last = omp_get_thread_num() == omp_get_num_threads() - 1;
    double start = wall_ns();
    for (long r = 0; last && r < reps; r++) {
        omp_set_lock(lock);
        *sum += 1;
        omp_unset_lock(lock);
    }
    double time = wall_ns() - start;
#pragma omp barrier
    return time;
}

static double time_flushes(long reps)
{
    double start = wall_ns();
    for (long r = 0; r < reps; r++) {
#pragma omp flush
    }
    return wall_ns() - start;
}

/* Flushes of the last thread alone, while all others wait at the barrier: of nothing, or of a word
 * of another node's page that it has changed, which is not in the time. */
static double time_lone_flushes(volatile uint64_t *word, long reps)
{
    int last = omp_get_thread_num() == omp_get_num_threads() - 1;
    double time = 0;
    for (long r = 0; last && r < reps; r++) {
        if (word)
            *word += 1;
        double start = wall_ns();
#pragma omp flush
        time += wall_ns() - start;
    }
#pragma omp barrier
    return time;
}

/* Each thread changes its own pages and reads its neighbour's at the same time as
 * all others do: how long reading a page takes more than one of nobody else's. */
static double time_exchange(volatile uint64_t **slices, uint64_t value, long *wrong)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads();
    uint64_t sum;
    write_half(slices[me], words, value);
    double own_ns = time_read(slices[me], words, &sum);
#pragma omp barrier
    double others_ns = time_read(slices[(me + 1) % team], words, &sum);
    *wrong += sum != value * (words / 2);
#pragma omp barrier
    return (others_ns - own_ns) / (double)(words / PAGE_WORDS);
}

/* Words that hold so many pages with one between them that is not used. */
static size_t words_apart(long pages)
{
    return 2 * (size_t)pages * PAGE_WORDS;
}

/* All threads but the first change, of each of so many pages in a row, of their own part, whose
 * home is node 0, one of so many of its first words: how much longer two barriers take, and the
 * first of them its own thread. */
static struct meeting time_diffs(volatile uint64_t *pages, size_t part, long count, size_t first,
                                 size_t of, uint64_t value, long *wrong)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads();
    size_t size = (size_t)count * PAGE_WORDS;
    for (size_t at = 0; me > 0 && at < size; at += PAGE_WORDS)
        for (size_t i = 0; i < first; i += of)
            pages[part * (size_t)(me - 1) + at + i] = value;
    struct meeting time = longer(time_meeting());
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

/* Thread 0 changes pages of its own node, and then computes, at least twice as long as all
 * others take to read them at once, while thread 1 reads them. */
static double time_at_work(volatile uint64_t *pages, size_t size, uint64_t value, double work_ns,
                           long *wrong)
{
    int me = omp_get_thread_num();
    if (me == 0)
        write_apart(pages, size, value);
#pragma omp barrier
    double fetch = 0;
    if (me == 0) {
        work_for(2 * work_ns);
    } else if (me == 1) {
        fetch = time_read_apart(pages, size, value, wrong);
        fetch -= time_read_apart(pages, size, value, wrong);
    }
#pragma omp barrier
    return fetch;
}

/* Thread 0 changes pages of its own node, which then all others read at once. */
static double time_same(volatile uint64_t *pages, size_t size, uint64_t value, long *wrong)
{
    int me = omp_get_thread_num();
    if (me == 0)
        write_apart(pages, size, value);
#pragma omp barrier
    double fetch = 0;
    if (me > 0) {
        fetch = time_read_apart(pages, size, value, wrong);
        fetch -= time_read_apart(pages, size, value, wrong);
    }
#pragma omp barrier
    return fetch;
}

/* Thread 0 changes pages of its own node of which another thread each has a copy; a
 * barrier tells them so. Then all others, at once, read their pages again, and change a
 * word of one of them, a word of each, half of each, all of each, and all but one byte of each
 * word, as calculations with numbers do whose size stays about what it was. */
static void time_crowd(volatile uint64_t *pages, long reps, uint64_t value, const struct own *own,
                       long round, long *wrong)
{
    int me = omp_get_thread_num(), team = omp_get_num_threads();
    size_t size = words_apart(reps);
    if (me == 0)
        write_apart(pages, size * (size_t)(team - 1), value);
    own->kind[NOTICE][round] = longer(time_meeting()).all / (double)(reps * (team - 1));
    if (me > 0) {
        volatile uint64_t *mine = pages + size * (size_t)(me - 1);
        double fetch = time_read_apart(mine, size, value, wrong);
        fetch -= time_read_apart(mine, size, value, wrong);
        own->kind[CROWD_FETCH][round] = fetch / (double)reps;
    }
    struct meeting first = time_diffs(pages, size, 1, 1, 1, value + ALL_BYTES, wrong);
    struct meeting words = time_diffs(pages, size, reps, 1, 1, value + 2 * ALL_BYTES, wrong);
    struct meeting halves = time_diffs(pages, size, reps, PAGE_WORDS, 2, value + 3 * ALL_BYTES, wrong);
    struct meeting wholes = time_diffs(pages, size, reps, PAGE_WORDS, 1, value + 4 * ALL_BYTES, wrong);
    struct meeting ragged = time_diffs(pages, size, reps, PAGE_WORDS, 1,
                                       (value + 4 * ALL_BYTES) ^ LOW_BYTES, wrong);
    /* Of many, what each further one adds. */
    double more = reps > 1 ? (double)(reps - 1) : 1;
    own->kind[FIRST_DIFF][round] = first.all;
    own->kind[CROWD_DIFF][round] = (words.all - first.all) / more;
    own->kind[CROWD_HALF][round] = (halves.all - first.all) / more;
    own->kind[CROWD_WHOLE][round] = (wholes.all - first.all) / more;
    own->kind[CROWD_RAGGED][round] = (ragged.all - first.all) / more;
    own->kind[DIFF_SENT][round] = (words.own - first.own) / more;
    own->kind[WHOLE_SENT][round] = (wholes.own - first.own) / more;
}

static long sync(long reps)
{
    static omp_lock_t lock;
    static volatile uint64_t **slices;
    long wrong = 0;
    volatile uint64_t *crowded = zeroed_pages(words_apart(reps) * (size_t)omp_get_max_threads());
    volatile uint64_t *same = zeroed_pages(words_apart(reps));
    volatile uint64_t *sum = zeroed_pages(PAGE_WORDS);
    volatile uint64_t *flushed = zeroed_pages(PAGE_WORDS);
    slices = calloc((size_t)omp_get_max_threads(), sizeof *slices);
    omp_init_lock(&lock);
    double began_ns = wall_ns();
    for (long r = 0; r <= rounds; r++) {
        double time = time_regions(reps);
        if (r > 0)
            samples[REGION][r - 1] = time;
    }
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num(), last = me == omp_get_num_threads() - 1;
        struct own own = own_samples();
        /* Allocated here, so that this node is its home. */
        slices[me] = zeroed_pages(words);
        long round = 0;
        for (; another_round(round, began_ns); round++) {
            double start = wall_ns();
            for (long r = 0; r < reps; r++) {
#pragma omp barrier
            }
            own.kind[BARRIER][round] = wall_ns() - start;
            own.kind[LOCK][round] = time_locks(&lock, NULL, reps);
            own.kind[FLUSH][round] = time_flushes(reps);
            own.kind[UPDATE][round] = time_locks(&lock, sum, reps);
            own.kind[LONE_UPDATE][round] = time_lone_updates(&lock, sum, reps);
            own.kind[LONE_FLUSH][round] = time_lone_flushes(NULL, reps);
            own.kind[LONE_FLUSH_DIFF][round] = time_lone_flushes(flushed, reps);
            own.kind[EXCHANGE][round] =
                time_exchange(slices, ALL_BYTES * (uint64_t)(round + 1), &wrong);
            uint64_t value = ALL_BYTES * (uint64_t)(4 * round + 1);
            time_crowd(crowded, reps, value, &own, round, &wrong);
            double all = wall_ns();
            own.kind[CROWD_SAME][round] =
                time_same(same, words_apart(reps), value, &wrong) / (double)reps;
            all = wall_ns() - all;
            value += ALL_BYTES;
            own.kind[AT_WORK][round] =
                time_at_work(same, words_apart(reps), value, all, &wrong) / (double)reps;
        }
        if (last) {
            done = round - 1;
            keep(&own, BARRIER, WHOLE_SENT, done);
            wrong += *sum != (uint64_t)(round * reps * (omp_get_num_threads() + 1));
        } else if (me == 0) {
            wrong += *flushed != (uint64_t)(round * reps);
            keep(&own, NOTICE, NOTICE, round - 1);
        }
        if (me == 1)
            keep(&own, AT_WORK, AT_WORK, round - 1);
    }
    for (int kind = REGION; kind <= LONE_FLUSH_DIFF; kind++)
        for (long r = 0; r < done; r++)
            samples[kind][r] /= (double)reps;
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
        json_array("region_ns", samples[REGION], done);
        json_array("barrier_ns", samples[BARRIER], done);
        json_array("lock_ns", samples[LOCK], done);
        json_array("flush_ns", samples[FLUSH], done);
        json_array("update_ns", samples[UPDATE], done);
        json_array("lone_update_ns", samples[LONE_UPDATE], done);
        json_array("lone_flush_ns", samples[LONE_FLUSH], done);
        json_array("lone_flush_diff_ns", samples[LONE_FLUSH_DIFF], done);
        json_array("exchange_ns", samples[EXCHANGE], done);
        json_array("crowd_fetch_ns", samples[CROWD_FETCH], done);
        json_array("crowd_same_ns", samples[CROWD_SAME], done);
        json_array("at_work_ns", samples[AT_WORK], done);
        json_array("first_diff_ns", samples[FIRST_DIFF], done);
        json_array("crowd_diff_ns", samples[CROWD_DIFF], done);
        json_array("crowd_half_ns", samples[CROWD_HALF], done);
        json_array("crowd_whole_ns", samples[CROWD_WHOLE], done);
        json_array("crowd_ragged_ns", samples[CROWD_RAGGED], done);
        json_array("diff_sent_ns", samples[DIFF_SENT], done);
        json_array("whole_sent_ns", samples[WHOLE_SENT], done);
        json_array("notice_ns", samples[NOTICE], done);
    }
    printf("}\n");
    return 0;
}
