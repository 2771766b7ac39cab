/* NPB IS, "integer sort" (RNR-94-007, kernel IS): ranks of small integer keys,
 * ten times over.
 *
 * Two keys are changed before each ranking. Particle codes sort their particles
 * into cells like this.
 *
 * Parallel by buckets, in one region per ranking. Each thread counts its share
 * of the keys by their leading bits; from all counts it learns where its keys of
 * each bucket go, and moves them there without asking anyone. Then each bucket,
 * now contiguous, is ranked by one thread.
 *
 * Here to show: all threads write scattered into the same array, up to their
 * neighbours' last byte, and read next what others wrote. Keys are all that
 * moves and arithmetic is next to nothing, so this is memory and
 * communication. Buckets are of different size: keys are sums of four random
 * numbers, so the middle ones are full and the outer ones empty.
 */
#include "npb.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define LOG2_KEYS NPB_BY_CLASS(16, 20, 23, 25, 27)
#define LOG2_VALUES NPB_BY_CLASS(11, 16, 19, 21, 23)
#define LOG2_BUCKETS NPB_BY_CLASS(9, 10, 10, 10, 10)
#define KEYS (1 << LOG2_KEYS)
#define VALUES (1 << LOG2_VALUES)
#define BUCKETS (1 << LOG2_BUCKETS)
#define BUCKET_SHIFT (LOG2_VALUES - LOG2_BUCKETS)
#define BUCKET_VALUES (1 << BUCKET_SHIFT)

#define ITERATIONS 10
#define SEED UINT64_C(314159265)
#define NUMBERS_PER_KEY 4

/* Keys drawn between two jumps in the sequence of random numbers. */
#define BLOCK_KEYS 1024

/* A key whose rank is published: it stands at `index`, and in iteration i it has
 * `rank` + i * `change`, as the keys that are changed pass it. Written as the
 * published number, which for some classes is that of another iteration. */
struct probe {
    int index;
    int rank;
    int change;
};

#define PROBES 5
static const struct probe probes[PROBES] = {
#if NPB_CLASS == 'S'
    {48427, 0, 1},      {17148, 18, 1},     {23627, 346, 1},
    {62548, 64917, -1}, {4431, 65463, -1},
#elif NPB_CLASS == 'W'
    {357773, 1249 - 2, 1}, {934767, 11698 - 2, 1}, {875723, 1039987, -1},
    {898999, 1043896, -1}, {404505, 1048018, -1},
#elif NPB_CLASS == 'A'
    {2112377, 104 - 1, 1},      {662041, 17523 - 1, 1},     {5336171, 123928 - 1, 1},
    {3642833, 8288932 + 1, -1}, {4250760, 8388264 + 1, -1},
#elif NPB_CLASS == 'B'
    {41869, 33422937, -1},    {812306, 10244, 1}, {5102857, 59149, 1},
    {18232239, 33135281, -1}, {26860214, 99, 1},
#else
    {44172927, 61147, 1},      {72999161, 882988, 1},    {74326391, 266290, 1},
    {129606274, 133997595, -1}, {21736814, 133525895, -1},
#endif
};

/* So many keys before one is moved, its place is fetched. Writes leave the
 * processor in order, so that each would otherwise wait for the one before. */
#define KEYS_AHEAD 16

/* With some more behind, which are looked at but never moved. */
static int keys[KEYS + KEYS_AHEAD];
/* The keys by bucket. */
static int bucketed[KEYS];
/* Where each bucket starts in `bucketed`. */
static int bucket_start[BUCKETS + 1] = {[BUCKETS] = KEYS};
/* How many keys have at most this value. */
static int keys_up_to[VALUES];
/* bucket_counts[t][b]: the keys of thread t in bucket b. */
static int (*bucket_counts)[BUCKETS];

static int team_size_max(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

static int team_size(void)
{
#ifdef _OPENMP
    return omp_get_num_threads();
#else
    return 1;
#endif
}

static int team_member(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* Keys are sums of four numbers of one sequence. */
static void draw_keys(void)
{
#pragma omp parallel for schedule(static)
    for (int block = 0; block < KEYS; block += BLOCK_KEYS) {
        uint64_t skip = npb_power(NPB_MULTIPLIER, NUMBERS_PER_KEY * (uint64_t)block);
        uint64_t state = npb_step(SEED, skip);
        for (int i = block; i < block + BLOCK_KEYS; i++) {
            double sum = 0.0;
            for (int n = 0; n < NUMBERS_PER_KEY; n++)
                sum += npb_random(&state, NPB_MULTIPLIER);
            keys[i] = (int)(VALUES / NUMBERS_PER_KEY * sum);
        }
    }
}

/* Where thread `member` puts its first key of each bucket: behind all smaller
 * buckets, and behind the same bucket's keys of the threads before it. */
static void place_buckets(int member, int size, int place[BUCKETS])
{
    int before = 0;
    for (int b = 0; b < BUCKETS; b++) {
        place[b] = before;
        for (int t = 0; t < size; t++) {
            int count = bucket_counts[t][b];
            if (t < member)
                place[b] += count;
            before += count;
        }
    }
}

static inline void prefetch_place(const int place[BUCKETS], int key)
{
    __builtin_prefetch(&bucketed[place[key >> BUCKET_SHIFT]], 1);
}

/* Counts the keys up to each value of bucket `b`. */
static void rank_bucket(int b)
{
    int first_value = b << BUCKET_SHIFT;
    int *up_to = &keys_up_to[first_value];
    memset(up_to, 0, BUCKET_VALUES * sizeof up_to[0]);
    for (int i = bucket_start[b]; i < bucket_start[b + 1]; i++)
        up_to[bucketed[i] - first_value]++;
    int sum = bucket_start[b];
    for (int v = 0; v < BUCKET_VALUES; v++) {
        sum += up_to[v];
        up_to[v] = sum;
    }
}

/* Ranks all keys. A thread has the same keys in both loops over them. */
static void rank(void)
{
#pragma omp parallel
    {
        int place[BUCKETS];
        int *counts = bucket_counts[team_member()];
        memset(counts, 0, sizeof place);
#pragma omp for schedule(static)
        for (int i = 0; i < KEYS; i++)
            counts[keys[i] >> BUCKET_SHIFT]++;

        place_buckets(team_member(), team_size(), place);
        /* The first thread's keys are the first of their buckets. */
#pragma omp master
        memcpy(bucket_start, place, sizeof place);
#pragma omp for schedule(static)
        for (int i = 0; i < KEYS; i++) {
            int key = keys[i];
            prefetch_place(place, keys[i + KEYS_AHEAD]);
            bucketed[place[key >> BUCKET_SHIFT]++] = key;
        }

#pragma omp for schedule(dynamic) nowait
        for (int b = 0; b < BUCKETS; b++)
            rank_bucket(b);
    }
}

/* One iteration: changes two keys and ranks all. Returns how many of the probes
 * have their published ranks. */
static int iterate(int iteration)
{
    keys[iteration] = iteration;
    keys[iteration + ITERATIONS] = VALUES - iteration;
    rank();
    int right = 0;
    for (int i = 0; i < PROBES; i++) {
        const struct probe *probe = &probes[i];
        int key = keys[probe->index];
        int smaller = key > 0 ? keys_up_to[key - 1] : 0;
        right += smaller == probe->rank + iteration * probe->change;
    }
    return right;
}

static int64_t sum_of_keys(void)
{
    int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int i = 0; i < KEYS; i++)
        sum += keys[i];
    return sum;
}

/* Sorts the keys by their ranks, which are used up. */
static void sort_keys(void)
{
#pragma omp parallel for schedule(dynamic)
    for (int b = 0; b < BUCKETS; b++)
        for (int i = bucket_start[b]; i < bucket_start[b + 1]; i++)
            keys[--keys_up_to[bucketed[i]]] = bucketed[i];
}

static int keys_out_of_order(void)
{
    int wrong = 0;
#pragma omp parallel for schedule(static) reduction(+ : wrong)
    for (int i = 1; i < KEYS; i++)
        wrong += keys[i - 1] > keys[i];
    return wrong;
}

int main(int argc, char **argv)
{
    size_t heap_bytes = (size_t)team_size_max() * sizeof bucket_counts[0];
    workload_fixed_arguments(argc, argv, "is", NPB_CLASS_NAME, heap_bytes);
    bucket_counts = workload_allocate(heap_bytes);
    draw_keys();
    iterate(1); /* untimed: touches everything */

    int right = 0;
    double start_s = workload_seconds();
    for (int iteration = 1; iteration <= ITERATIONS; iteration++)
        right += iterate(iteration);
    double elapsed_s = workload_seconds() - start_s;

    int64_t sum = sum_of_keys();
    sort_keys();
    const struct npb_check checks[] = {
        {"ranks right", right, ITERATIONS * PROBES},
        {"out of order", keys_out_of_order(), 0},
        {"sum of keys", (double)sum_of_keys(), (double)sum},
    };
    const struct workload_result result = {
        .suite = "npb",
        .name = "is",
        .size = NPB_CLASS_NAME,
        .iterations = ITERATIONS,
        .seconds = elapsed_s,
        .operations = (double)ITERATIONS * KEYS,
        .unit = "keys ranked",
        .checksum = NAN,
        .verdict = npb_verify(checks, 3, 0.0),
    };
    return workload_finish(&result);
}
