/* Sorts numbers by merging sorted quarters, which tasks have sorted; the merging is divided, too.
 *
 * Memory moves between the threads at each level: what one has sorted another merges.
 */
#include "tasks.h"
#include <stdint.h>
#include <string.h>

typedef uint32_t key;

static key *keys, *other;

static size_t bytes(long n)
{
    return 2 * (size_t)n * sizeof *keys;
}

static void prepare(long n)
{
    if (keys == NULL) {
        keys = workload_allocate((size_t)n * sizeof *keys);
        other = workload_allocate((size_t)n * sizeof *other);
    }
    /* Any scrambling will do that is the same in every run. */
    uint32_t state = 12345;
    for (long i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        keys[i] = state ^ state >> 15;
    }
}

static void insert(key *a, long n)
{
    for (long i = 1; i < n; i++) {
        key moved = a[i];
        long j = i;
        for (; j > 0 && a[j - 1] > moved; j--)
            a[j] = a[j - 1];
        a[j] = moved;
    }
}

static void serial(key *a, long n)
{
    while (n > 24) {
        key first = a[0], middle = a[n / 2], last = a[n - 1];
        key low = first < last ? first : last, high = first < last ? last : first;
        key pivot = middle < low ? low : middle > high ? high : middle;
        long i = 0, j = n - 1;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i <= j) {
                key swapped = a[i];
                a[i++] = a[j];
                a[j--] = swapped;
            }
        }
        /* The smaller part first, so that the depth is bounded. */
        if (j + 1 < n - i) {
            serial(a, j + 1);
            a += i;
            n -= i;
        } else {
            serial(a + i, n - i);
            n = j + 1;
        }
    }
    insert(a, n);
}

static void merge_serially(const key *a, long m, const key *b, long n, key *to)
{
    while (m > 0 && n > 0) {
        int is_b = *b < *a;
        *to++ = is_b ? *b : *a;
        b += is_b, n -= is_b;
        a += !is_b, m -= !is_b;
    }
    memcpy(to, m > 0 ? a : b, (size_t)(m + n) * sizeof *to);
}

/* How many of a sorted array are less than `bound`. */
static long less(const key *a, long n, key bound)
{
    long first = 0;
    while (n > 0) {
        long half = n / 2;
        if (a[first + half] < bound) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}

static void merge(const key *a, long m, const key *b, long n, key *to, long cutoff)
{
    if (m < n) {
        const key *swapped = a;
        a = b, b = swapped;
        long length = m;
        m = n, n = length;
    }
    if (m + n <= cutoff || m < 2) {
        merge_serially(a, m, b, n, to);
        return;
    }
    long left = m / 2, right = less(b, n, a[left]);
#pragma omp task
    merge(a, left, b, right, to, cutoff);
#pragma omp task
    merge(a + left, m - left, b + right, n - right, to + left + right, cutoff);
#pragma omp taskwait
}

static void parallel(key *a, long n, key *spare, long cutoff)
{
    if (n <= cutoff || n < 8) {
        serial(a, n);
        return;
    }
    long quarter = n / 4, half = 2 * quarter, rest = n - 3 * quarter;
#pragma omp task
    parallel(a, quarter, spare, cutoff);
#pragma omp task
    parallel(a + quarter, quarter, spare + quarter, cutoff);
#pragma omp task
    parallel(a + half, quarter, spare + half, cutoff);
#pragma omp task
    parallel(a + 3 * quarter, rest, spare + 3 * quarter, cutoff);
#pragma omp taskwait
#pragma omp task
    merge(a, quarter, a + quarter, quarter, spare, cutoff);
#pragma omp task
    merge(a + half, quarter, a + 3 * quarter, rest, spare + half, cutoff);
#pragma omp taskwait
    merge(spare, half, spare + half, n - half, a, cutoff);
}

static void run(long n, long cutoff)
{
#pragma omp parallel
#pragma omp single
    parallel(keys, n, other, cutoff);
}

static double checksum(long n)
{
    double sum = 0.0;
    for (long i = 0; i < n; i++) {
        if (i > 0 && keys[i - 1] > keys[i])
            return NAN;
        sum += (double)keys[i] * (double)(i % 1000 + 1);
    }
    return sum;
}

const struct task_program task_program = {
    .name = "sort",
    .about = "Numbers sorted by merging",
    .parameter = "n",
    .set = {1 << 14, 1 << 18, 1 << 22, 1 << 24, 1 << 26},
    .cutoff = "numbers that one task sorts or merges",
    .cutoff_initial = 1 << 17,
    .cutoff_most = 1 << 30,
    .bytes = bytes,
    .prepare = prepare,
    .run = run,
    .checksum = checksum,
};
