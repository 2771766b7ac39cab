/* Reads a working set that all threads share and updates one that each piece of
 * work has for itself.
 *
 * The shared words are read by every thread, so each core's cache holds a copy of
 * its own; the private ones are split among the threads, so they fit into the
 * caches of more threads together. With sizes around the capacity of a cache the
 * same program goes from bound by a level to bound by the next.
 */
#include "pattern.h"

enum { SHARED_PERCENT, PIECES = 64 };

static size_t shared_words, piece_words;
static uint64_t *shared, *pieces;

static size_t shape(const struct pattern_plan *plan)
{
    size_t words = plan->bytes / sizeof *shared;
    shared_words = words / 100 * (size_t)plan->value[SHARED_PERCENT] + 1;
    piece_words = (words - shared_words) / PIECES + 1;
    return (shared_words + PIECES * piece_words) * sizeof *shared;
}

static uint64_t shared_value(size_t i)
{
    return 3 * i + 1;
}

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    shared = workload_allocate(shared_words * sizeof *shared);
    pieces = workload_allocate(PIECES * piece_words * sizeof *pieces);
#pragma omp parallel
    {
#pragma omp for nowait
        for (size_t i = 0; i < shared_words; i++)
            shared[i] = shared_value(i);
#pragma omp for
        for (int piece = 0; piece < PIECES; piece++)
            for (size_t i = 0; i < piece_words; i++)
                pieces[(size_t)piece * piece_words + i] = 0;
    }
}

/* Adds the shared words to the piece, over and over where it is shorter. */
static void run(const struct pattern_plan *plan, long r)
{
    (void)plan;
    (void)r;
#pragma omp parallel for
    for (int piece = 0; piece < PIECES; piece++) {
        uint64_t *own = pieces + (size_t)piece * piece_words;
        for (size_t first = 0; first < shared_words; first += piece_words) {
            size_t rest = shared_words - first;
            size_t count = rest < piece_words ? rest : piece_words;
            for (size_t i = 0; i < count; i++)
                own[i] += shared[first + i];
        }
    }
}

/* Two loads and a store for each. */
static double operations(const struct pattern_plan *plan)
{
    (void)plan;
    return 3.0 * PIECES * (double)shared_words;
}

static bool check(const struct pattern_plan *plan)
{
    for (size_t i = 0; i < piece_words; i++) {
        uint64_t sum = 0;
        for (size_t at = i; at < shared_words; at += piece_words)
            sum += shared_value(at);
        for (size_t piece = 0; piece < PIECES; piece++)
            if (pieces[piece * piece_words + i] != (uint64_t)plan->repeat * sum)
                return false;
    }
    return true;
}

const struct pattern pattern = {
    .name = "working_set",
    .about = "reads a shared working set, updates private ones",
    .option = {{.name = "shared",
                .about = "percentage that is shared",
                .initial = 50,
                .least = 1,
                .most = 99}},
    .unit = "accesses",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
