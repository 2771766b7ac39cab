/* What the constructs of the runtime cost on this machine.
 *
 * Calls the runtime by the entry points that gcc emits, so any C compiler can
 * build it and nothing is measured that a program would not meet.
 *
 * usage: probe THREADS MILLISECONDS COPY_BYTES
 *
 * Prints one JSON object. Times are nanoseconds per operation: the least of
 * many batches, because what others do on the machine only ever makes things
 * slower. Batches are long enough to bury the timer's own cost, and so short
 * that on a busy machine all threads have processors during some of them. The
 * copy moves COPY_BYTES per thread from one array to another, block by block,
 * and counts bytes read and written; of each block too the least time counts.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { int x; } omp_lock_t;
extern void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
extern void GOMP_barrier(void);
extern void GOMP_critical_start(void);
extern void GOMP_critical_end(void);
extern bool GOMP_loop_dynamic_start(long start, long end, long step, long chunk, long *from, long *to);
extern bool GOMP_loop_dynamic_next(long *from, long *to);
extern void GOMP_loop_end(void);
extern void omp_init_lock(omp_lock_t *);
extern void omp_destroy_lock(omp_lock_t *);
extern void omp_set_lock(omp_lock_t *);
extern void omp_unset_lock(omp_lock_t *);
extern int omp_get_thread_num(void);
extern int omp_get_num_threads(void);

enum { BATCHES_MIN = 20, MAX_THREADS = 4096 };

/* The clock's own cost is a ten-thousandth of it. */
static const double batch_seconds = 250e-6;
/* A time is believed if two batches took as long, within this part of it; until then, batches
 * are made for so many times as long. */
static const double agreement = 0.05;
enum { LONGER = 8 };

static unsigned threads;
/* For the batches of one operation. */
static double seconds_each;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A measurement: runs the operation `count` times, returns the seconds taken. */
typedef double measurement(long count);

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Nanoseconds per operation; also warms up while it looks for a batch size. INFINITY if no two
 * batches agree: then the threads hardly ever had processors at the same time. */
static double cost_ns(measurement *measure)
{
    long count = 1;
    int batches = 0;
    double first = INFINITY, second = INFINITY, start = now();
    for (;;) {
        double seconds = measure(count);
        if (seconds < batch_seconds && count < 1L << 40) {
            count *= 2;
            batches = 0;
            first = second = INFINITY;
            start = now();
            continue;
        }
        second = least(second, seconds < first ? first : seconds);
        first = least(first, seconds);
        double spent = now() - start;
        if (++batches >= BATCHES_MIN && spent > seconds_each && second <= first * (1 + agreement))
            return first / (double)count * 1e9;
        if (batches >= BATCHES_MIN && spent > seconds_each * LONGER)
            return INFINITY;
    }
}

/* What is not known is null. */
static void print(const char *name, double value)
{
    if (value < INFINITY)
        printf(",\"%s\":%.3f", name, value);
    else
        printf(",\"%s\":null", name);
}

static void nothing(void *data)
{
    (void)data;
}

static double fork_join(long count)
{
    double start = now();
    for (long i = 0; i < count; i++)
        GOMP_parallel(nothing, NULL, threads, 0);
    return now() - start;
}

/* The others run inside one region, from when the first thread leaves a barrier to the end of
 * the next one. A thread that loses its processor behind the first barrier is late to look at
 * the clock, while the others are at work: by its clock alone they would seem to be faster. */
static double starts[MAX_THREADS];

static void start_together(void)
{
    GOMP_barrier();
    starts[omp_get_thread_num()] = now();
}

/* For the first thread, behind the barrier at the end: since the first one started, and how much
 * later the last one did. */
static double since_start(double *late)
{
    double end = now(), first = starts[0], last = first;
    for (int i = 1; i < omp_get_num_threads(); i++) {
        first = least(first, starts[i]);
        last = starts[i] > last ? starts[i] : last;
    }
    *late = last - first;
    return end - first;
}

struct inside {
    void (*operation)(long count);
    long count;
    double seconds;
};

static void run_inside(void *data)
{
    struct inside *inside = data;
    start_together();
    inside->operation(inside->count);
    GOMP_barrier();
    if (omp_get_thread_num() != 0)
        return;
    /* A batch that some thread began when others had done much of it says nothing of threads that
     * hinder each other. While its size is looked for it is too short to tell. */
    double late;
    inside->seconds = since_start(&late);
    if (inside->seconds > batch_seconds && late > inside->seconds / 10)
        inside->seconds = INFINITY;
}

static double within(void (*operation)(long), long count)
{
    struct inside inside = { operation, count, 0 };
    GOMP_parallel(run_inside, &inside, threads, 0);
    return inside.seconds;
}

static void barriers(long count)
{
    for (long i = 0; i < count; i++)
        GOMP_barrier();
}

static double barrier(long count)
{
    return within(barriers, count);
}

/* One loop of single iterations: the price of a chunk to the whole team. */
static void chunks(long count)
{
    long from, to;
    if (GOMP_loop_dynamic_start(0, count, 1, 1, &from, &to))
        while (GOMP_loop_dynamic_next(&from, &to)) {
        }
    GOMP_loop_end();
}

static double dynamic_chunk(long count)
{
    return within(chunks, count);
}

static omp_lock_t lock;

/* `count` acquisitions altogether, whoever makes them. */
static void locks(long count)
{
    long share = count / omp_get_num_threads() + 1;
    for (long i = 0; i < share; i++) {
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
}

static double lock_pair(long count)
{
    return within(locks, count);
}

static void criticals(long count)
{
    long share = count / omp_get_num_threads() + 1;
    for (long i = 0; i < share; i++) {
        GOMP_critical_start();
        GOMP_critical_end();
    }
}

static double critical(long count)
{
    return within(criticals, count);
}

/* A cache line that several threads write costs more than lines of their own: each
 * thread adds to a counter that no other touches, all in one line or far apart. The
 * lines beside are left alone, since processors fetch pairs of lines. */
enum { APART_LONGS = 32, COUNTERS_MAX = 8 };
static volatile long counters[COUNTERS_MAX * APART_LONGS] __attribute__((aligned(4096)));
static int stride;

static volatile long *own_counter(void)
{
    return counters + omp_get_thread_num() % COUNTERS_MAX * stride;
}

static void add_plainly(long count)
{
    volatile long *own = own_counter();
    for (long i = 0; i < count; i++)
        *own = *own + 1;
}

static void add_atomically(long count)
{
    volatile long *own = own_counter();
    for (long i = 0; i < count; i++)
        __atomic_fetch_add(own, 1, __ATOMIC_RELAXED);
}

static double plain_adds(long count)
{
    return within(add_plainly, count);
}

static double atomic_adds(long count)
{
    return within(add_atomically, count);
}

/* What an addition costs more in one line than in lines of their own. */
static double contended_ns(measurement *adds)
{
    stride = APART_LONGS;
    double apart = cost_ns(adds);
    stride = 1;
    double together = cost_ns(adds);
    if (!(together < INFINITY && apart < INFINITY))
        return INFINITY;
    return together > apart ? together - apart : 0;
}

/* Bandwidth: every thread copies an array of its own that it touched first, block by block, with
 * all others. Between two copies of a block everything else goes through the caches. */
enum { BLOCK_BYTES = 2 << 20, BLOCKS_MAX = 4096, ROUNDS = 20 };
static const double copying_seconds = 2;

struct copy {
    size_t bytes;
    /* The least of all rounds, for each block. */
    double seconds[BLOCKS_MAX];
    bool failed, done;
};

static size_t block_bytes(size_t bytes)
{
    size_t least_bytes = bytes / BLOCKS_MAX + 1;
    return least_bytes > BLOCK_BYTES ? least_bytes : BLOCK_BYTES;
}

static void copy_block(char *to, const char *from, size_t bytes, double *seconds)
{
    double late;
    start_together();
    memcpy(to, from, bytes);
    /* The copy must happen: somebody might look at the result. */
    __asm__ volatile("" : : "r"(to) : "memory");
    GOMP_barrier();
    if (omp_get_thread_num() == 0)
        *seconds = least(*seconds, since_start(&late));
}

static void copy_arrays(void *data)
{
    struct copy *copy = data;
    char *from = malloc(copy->bytes), *to = malloc(copy->bytes);
    if (from && to) {
        memset(from, 1, copy->bytes);
        memset(to, 2, copy->bytes);
    } else {
        __atomic_store_n(&copy->failed, true, __ATOMIC_RELAXED);
    }
    GOMP_barrier();
    double start = now();
    size_t each = block_bytes(copy->bytes);
    for (int round = 0; !copy->failed && !copy->done; round++) {
        size_t at = 0;
        for (int block = 0; at < copy->bytes; at += each, block++) {
            size_t left = copy->bytes - at;
            copy_block(to + at, from + at, left < each ? left : each, &copy->seconds[block]);
        }
        GOMP_barrier();
        if (omp_get_thread_num() == 0)
            copy->done = round + 1 >= ROUNDS || now() - start > copying_seconds;
        GOMP_barrier();
    }
    free(from);
    free(to);
}

/* Bytes read and written per second by the whole team; 0 if memory ran out. */
static double copy_bytes_per_second(size_t bytes)
{
    static struct copy copy;
    copy.bytes = bytes;
    for (int i = 0; i < BLOCKS_MAX; i++)
        copy.seconds[i] = INFINITY;
    GOMP_parallel(copy_arrays, &copy, threads, 0);
    if (copy.failed)
        return 0;
    double all = 0;
    size_t each = block_bytes(bytes);
    for (size_t block = 0; block * each < bytes; block++)
        all += copy.seconds[block];
    return all > 0 ? 2.0 * (double)bytes * threads / all : 0;
}

/* Smallest step of the clock that programs see. */
static double timer_resolution_ns(void)
{
    double best = 1;
    for (int i = 0; i < 1000; i++) {
        double start = now(), end = start;
        while (end <= start)
            end = now();
        if (end - start < best)
            best = end - start;
    }
    return best * 1e9;
}

static double timer_cost_ns(void)
{
    enum { READINGS = 10000 };
    double start = now(), last = start;
    for (int i = 0; i < READINGS; i++)
        last = now();
    return (last - start) / READINGS * 1e9;
}

static void count_team(void *data)
{
    if (omp_get_thread_num() == 0)
        *(int *)data = omp_get_num_threads();
}

int main(int argc, char **argv)
{
    long asked = argc == 4 ? strtol(argv[1], NULL, 10) : 0;
    long milliseconds = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    long bytes = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    if (asked < 1 || asked > MAX_THREADS || milliseconds < 1 || bytes < 1) {
        fprintf(stderr, "usage: probe THREADS MILLISECONDS COPY_BYTES\n");
        return 2;
    }
    threads = (unsigned)asked;
    seconds_each = (double)milliseconds * 1e-3;
    omp_init_lock(&lock);

    int team = 0;
    GOMP_parallel(count_team, &team, threads, 0);
    printf("{\"threads\":%d", team);
    threads = (unsigned)team;
    print("timer_resolution_ns", timer_resolution_ns());
    print("timer_cost_ns", timer_cost_ns());
    print("fork_join_ns", cost_ns(fork_join));
    print("barrier_ns", cost_ns(barrier));
    print("dynamic_chunk_ns", cost_ns(dynamic_chunk));
    print("lock_ns", cost_ns(lock_pair));
    print("critical_ns", cost_ns(critical));
    /* One line has room for so many. */
    if (team > 1 && team <= COUNTERS_MAX) {
        print("contended_plain_ns", contended_ns(plain_adds));
        print("contended_atomic_ns", contended_ns(atomic_adds));
    }
    print("copy_bytes_per_second", copy_bytes_per_second((size_t)bytes));
    puts("}");
    omp_destroy_lock(&lock);
    return 0;
}
