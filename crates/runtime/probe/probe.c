/* What the constructs of the runtime cost on this machine.
 *
 * Calls the runtime by the entry points that gcc emits, so any C compiler can
 * build it and nothing is measured that a program would not meet.
 *
 * usage: probe THREADS MILLISECONDS COPY_BYTES
 *
 * Prints one JSON object. Times are nanoseconds per operation: the best of
 * several batches, each long enough to bury the timer's own cost, because what
 * others do on the machine only ever makes things slower. The copy moves
 * COPY_BYTES per thread from one array to another and counts bytes read and
 * written; it too is the best of several.
 */
#define _GNU_SOURCE
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

enum { BATCHES = 20, MAX_THREADS = 4096 };

static unsigned threads;
static double batch_seconds;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A measurement: runs the operation `count` times, returns the seconds taken. */
typedef double measurement(long count);

/* Nanoseconds per operation; also warms up while it looks for a batch size. */
static double cost_ns(measurement *measure)
{
    long count = 1;
    double seconds = measure(count);
    while (seconds < batch_seconds && count < 1L << 40) {
        count *= 2;
        seconds = measure(count);
    }
    /* While others use the machine, single operations may take longer than a
     * batch was meant to; then every try is a batch. */
    double start = now();
    for (int i = 0; i < BATCHES || now() - start < batch_seconds * BATCHES; i++) {
        double again = measure(count);
        seconds = again < seconds ? again : seconds;
    }
    return seconds / (double)count * 1e9;
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

/* For the first thread, behind the barrier at the end. */
static double since_start(void)
{
    double end = now(), first = starts[0];
    for (int i = 1; i < omp_get_num_threads(); i++)
        first = starts[i] < first ? starts[i] : first;
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
    if (omp_get_thread_num() == 0)
        inside->seconds = since_start();
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

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The median of several batches: the best one may be that in which a thread waited for
 * a processor and the other had the line for itself. */
static double typical_ns(measurement *measure)
{
    double seconds[BATCHES];
    long count = 1;
    while (measure(count) < batch_seconds && count < 1L << 40)
        count *= 2;
    for (int i = 0; i < BATCHES; i++)
        seconds[i] = measure(count);
    qsort(seconds, BATCHES, sizeof *seconds, by_value);
    return seconds[BATCHES / 2] / (double)count * 1e9;
}

/* What an addition costs more in one line than in lines of their own. */
static double contended_ns(measurement *adds)
{
    stride = APART_LONGS;
    double apart = typical_ns(adds);
    stride = 1;
    double together = typical_ns(adds);
    return together > apart ? together - apart : 0;
}

/* Bandwidth: every thread copies an array of its own that it touched first. */
struct copy {
    size_t bytes;
    int rounds;
    double seconds[BATCHES];
    bool failed;
};

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
    if (!copy->failed)
        for (int batch = 0; batch < BATCHES; batch++) {
            start_together();
            for (int i = 0; i < copy->rounds; i++) {
                memcpy(to, from, copy->bytes);
                /* The copy must happen: somebody might look at the result. */
                __asm__ volatile("" : : "r"(to) : "memory");
            }
            GOMP_barrier();
            if (omp_get_thread_num() == 0)
                copy->seconds[batch] = since_start();
        }
    free(from);
    free(to);
}

/* Bytes read and written per second by the whole team; 0 if memory ran out. */
static double copy_bytes_per_second(size_t bytes)
{
    struct copy copy = { bytes, 1, { 0 }, false };
    GOMP_parallel(copy_arrays, &copy, threads, 0);
    if (copy.failed)
        return 0;
    double best = copy.seconds[0];
    for (int i = 1; i < BATCHES; i++)
        best = copy.seconds[i] < best ? copy.seconds[i] : best;
    return best > 0 ? 2.0 * (double)bytes * threads * copy.rounds / best : 0;
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
    batch_seconds = (double)milliseconds * 1e-3 / BATCHES;
    omp_init_lock(&lock);

    int team = 0;
    GOMP_parallel(count_team, &team, threads, 0);
    printf("{\"threads\":%d", team);
    threads = (unsigned)team;
    printf(",\"timer_resolution_ns\":%.3f", timer_resolution_ns());
    printf(",\"timer_cost_ns\":%.3f", timer_cost_ns());
    printf(",\"fork_join_ns\":%.3f", cost_ns(fork_join));
    printf(",\"barrier_ns\":%.3f", cost_ns(barrier));
    printf(",\"dynamic_chunk_ns\":%.3f", cost_ns(dynamic_chunk));
    printf(",\"lock_ns\":%.3f", cost_ns(lock_pair));
    printf(",\"critical_ns\":%.3f", cost_ns(critical));
    /* One line has room for so many. */
    if (team > 1 && team <= COUNTERS_MAX) {
        printf(",\"contended_plain_ns\":%.3f", contended_ns(plain_adds));
        printf(",\"contended_atomic_ns\":%.3f", contended_ns(atomic_adds));
    }
    printf(",\"copy_bytes_per_second\":%.0f}\n", copy_bytes_per_second((size_t)bytes));
    omp_destroy_lock(&lock);
    return 0;
}
