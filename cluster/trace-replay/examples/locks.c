/* Threads that meet at locks between barriers, to record for predictors.rs:
 *
 *     gcc -O2 -fopenmp cluster/trace-replay/examples/locks.c -o locks
 *     fathomp record --nodes 4 --accesses -o own -- ./locks own
 *
 * own: each thread takes its own lock, and now and then its neighbour's.
 * mixed: one lock in eight is another thread's.
 * parts: each thread writes half a MiB of its own, then all meet at one lock.
 * runs: each thread takes one lock three times in a row, then computes.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 64, WORDS = 500, PAGES = 128, PAGE_BYTES = 4096 };

static struct {
    omp_lock_t lock;
    long words[WORDS];
} own[THREADS_MAX] __attribute__((aligned(PAGE_BYTES)));
static char part[THREADS_MAX][PAGES][PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));
static omp_lock_t shared;
static long total __attribute__((aligned(PAGE_BYTES)));

static void compute(int steps) {
    volatile double x = 1;
    for (int step = 0; step < steps; step++)
        x = x * 1.0000001;
}

static void count(int owner, int words) {
    omp_set_lock(&own[owner].lock);
    for (int word = 0; word < words; word++)
        own[owner].words[word]++;
    omp_unset_lock(&own[owner].lock);
}

static void add_to_total(long value) {
    omp_set_lock(&shared);
    total += value;
    omp_unset_lock(&shared);
}

int main(int count_of_arguments, char **arguments) {
    const char *kind = count_of_arguments > 1 ? arguments[1] : "own";
    int rounds = count_of_arguments > 2 ? atoi(arguments[2]) : 300;
    for (int thread = 0; thread < THREADS_MAX; thread++)
        omp_init_lock(&own[thread].lock);
    omp_init_lock(&shared);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        for (int round = 0; round < rounds; round++) {
            if (!strcmp(kind, "own")) {
                count(me, WORDS);
                if (round % 100 == 99)
                    count((me + 1) % threads, 1);
            } else if (!strcmp(kind, "mixed")) {
                count(round % 8 ? me : (me + round / 8) % threads, 64);
                compute(5000);
            } else if (!strcmp(kind, "parts")) {
                for (int page = 0; page < PAGES; page++)
                    for (int byte = 0; byte < PAGE_BYTES; byte += 64)
                        part[me][page][byte] += round + page;
                add_to_total(part[me][round % PAGES][0]);
            } else {
                for (int again = 0; again < 3; again++)
                    add_to_total(1);
                compute(40000);
            }
        }
    }
    long sum = total;
    for (int thread = 0; thread < THREADS_MAX; thread++)
        for (int word = 0; word < WORDS; word++)
            sum += own[thread].words[word];
    printf("%ld\n", sum);
    return 0;
}
