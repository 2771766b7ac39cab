/* A loop of good and bad accesses, mixed by six controls.
 *
 * Good is arithmetic, and what is found in a cache; bad are misses, of which those
 * in sequence wait for bandwidth and those down a column for latency; reading and
 * writing cost differently. Each has a control of its own, and the sixth is the
 * working set (--size), which decides whether a miss is one.
 */
#include "pattern.h"

enum { ARITHMETIC, READS, WRITES, LATENCY, REUSE };
enum { LANES = 8 }; /* a cache line */

/* What is in sequence, and what is walked down its columns. */
struct matrix {
    size_t n; /* rows and columns; a multiple of LANES */
    double *word;
};

static struct matrix streamed, walked;
static double sum; /* of all that was read alone */

/* Minus one, but the compiler must not know: it would do the sums itself. */
static volatile double minus_one = -1.0;

static size_t side(double words)
{
    return pattern_square_root((size_t)words) / LANES * LANES;
}

static size_t shape(const struct pattern_plan *plan)
{
    double words = (double)plan->bytes / sizeof(double);
    streamed.n = side(words * (double)(100 - plan->value[LATENCY]) / 100.0);
    walked.n = side(words * (double)plan->value[LATENCY] / 100.0);
    return (streamed.n * streamed.n + walked.n * walked.n) * sizeof(double);
}

/* Spread evenly: of any 100 neighbouring lines, `reads` are read, `writes` are
 * written; where these are more than 100 together, the rest is both. */
static size_t place(size_t line)
{
    return line % 100 * 37 % 100;
}

static bool is_read(const struct pattern_plan *plan, size_t line)
{
    return place(line) < (size_t)plan->value[READS];
}

static bool is_written(const struct pattern_plan *plan, size_t line)
{
    return place(line) >= 100 - (size_t)plan->value[WRITES];
}

static const double first_value = 0.25;

static void prepare(const struct pattern_plan *plan)
{
    (void)plan;
    streamed.word = workload_allocate(streamed.n * streamed.n * sizeof(double) + 1);
    walked.word = workload_allocate(walked.n * walked.n * sizeof(double) + 1);
#pragma omp parallel
    {
#pragma omp for nowait
        for (size_t i = 0; i < streamed.n * streamed.n; i++)
            streamed.word[i] = first_value;
#pragma omp for
        for (size_t i = 0; i < walked.n * walked.n; i++)
            walked.word[i] = first_value;
    }
}

/* `times` times 1 - x: a multiplication and an addition each. LANES chains go side
 * by side, so that none of them waits for itself. */
static inline void calculate(double x[LANES], long times)
{
    const double factor = minus_one;
    for (long t = 0; t < times; t++)
        for (int lane = 0; lane < LANES; lane++)
            x[lane] = factor * x[lane] + 1.0;
}

static inline double read_line(const double *word, size_t stride, size_t n, long times)
{
    double total[LANES] = {0};
    for (size_t group = 0; group < n; group += LANES) {
        double x[LANES];
        for (size_t lane = 0; lane < LANES; lane++)
            x[lane] = word[(group + lane) * stride];
        calculate(x, times);
        for (int lane = 0; lane < LANES; lane++)
            total[lane] += x[lane];
    }
    double all = 0.0;
    for (int lane = 0; lane < LANES; lane++)
        all += total[lane];
    return all;
}

static inline void write_line(double *word, size_t stride, size_t n, long times, double value)
{
    for (size_t group = 0; group < n; group += LANES) {
        double x[LANES];
        for (int lane = 0; lane < LANES; lane++)
            x[lane] = value;
        calculate(x, times);
        for (size_t lane = 0; lane < LANES; lane++)
            word[(group + lane) * stride] = x[lane];
    }
}

static inline void update_line(double *word, size_t stride, size_t n, long times)
{
    for (size_t group = 0; group < n; group += LANES) {
        double x[LANES];
        for (size_t lane = 0; lane < LANES; lane++)
            x[lane] = word[(group + lane) * stride];
        calculate(x, times);
        for (size_t lane = 0; lane < LANES; lane++)
            word[(group + lane) * stride] = x[lane] + 1.0;
    }
}

/* One line as often as it is used again; what is read alone comes back as a sum. */
static inline double use_line(const struct pattern_plan *plan, size_t line, double *word,
                              size_t stride, size_t n, double value)
{
    const long times = plan->value[ARITHMETIC];
    double total = 0.0;
    for (long pass = 0; pass < plan->value[REUSE]; pass++) {
        if (is_read(plan, line) && is_written(plan, line))
            update_line(word, stride, n, times);
        else if (is_written(plan, line))
            write_line(word, stride, n, times, value);
        else if (is_read(plan, line))
            total += read_line(word, stride, n, times);
    }
    return total;
}

static void run(const struct pattern_plan *plan, long r)
{
    double total = 0.0;
#pragma omp parallel reduction(+ : total)
    {
#pragma omp for nowait
        for (size_t i = 0; i < streamed.n; i++)
            total += use_line(plan, i, streamed.word + i * streamed.n, 1, streamed.n, (double)r);
#pragma omp for
        for (size_t j = 0; j < walked.n; j++)
            total += use_line(plan, j, walked.word + j, walked.n, walked.n, (double)r);
    }
    sum += total;
}

/* Lines of one matrix that are read and that are written; if `both`, those that are both. */
static double count(const struct pattern_plan *plan, size_t n, bool reads, bool writes, bool both)
{
    double lines = 0.0;
    for (size_t line = 0; line < n; line++) {
        bool read = is_read(plan, line), written = is_written(plan, line);
        lines += both ? read && written : (reads && read) + (writes && written);
    }
    return lines;
}

/* Each load and each store. */
static double operations(const struct pattern_plan *plan)
{
    double words = count(plan, streamed.n, true, true, false) * (double)streamed.n
                   + count(plan, walked.n, true, true, false) * (double)walked.n;
    return words * (double)plan->value[REUSE];
}

/* 1 - (1 - x) is x again, exactly for quarters. */
static double calculated(const struct pattern_plan *plan, double x)
{
    return plan->value[ARITHMETIC] % 2 == 1 ? 1.0 - x : x;
}

static double expected(const struct pattern_plan *plan, size_t line)
{
    bool read = is_read(plan, line), written = is_written(plan, line);
    if (!written)
        return first_value;
    if (!read)
        return calculated(plan, (double)(plan->repeat - 1));
    double passes = (double)plan->repeat * (double)plan->value[REUSE];
    if (plan->value[ARITHMETIC] % 2 == 0)
        return first_value + passes;
    /* x becomes 2 - x, and x again. */
    return fmod(passes, 2.0) == 1.0 ? 2.0 - first_value : first_value;
}

/* The words of a line are `step` apart, lines are `next` apart. */
static bool is_right(const struct pattern_plan *plan, const struct matrix *matrix, size_t next,
                     size_t step)
{
    for (size_t line = 0; line < matrix->n; line++) {
        double value = expected(plan, line);
        for (size_t i = 0; i < matrix->n; i++)
            if (matrix->word[line * next + i * step] != value)
                return false;
    }
    return true;
}

static double read_alone(const struct pattern_plan *plan, size_t n)
{
    return (count(plan, n, true, false, false) - count(plan, n, true, true, true)) * (double)n;
}

static bool check(const struct pattern_plan *plan)
{
    double words = read_alone(plan, streamed.n) + read_alone(plan, walked.n);
    double passes = (double)plan->repeat * (double)plan->value[REUSE];
    return is_right(plan, &streamed, streamed.n, 1) && is_right(plan, &walked, 1, walked.n)
           && sum == words * passes * calculated(plan, first_value);
}

const struct pattern pattern = {
    .name = "synthetic",
    .about = "mixes good and bad accesses by six controls",
    .option = {{.name = "arithmetic",
                .about = "multiplications with additions for each word",
                .initial = 1,
                .least = 0,
                .most = 1000000},
               {.name = "reads",
                .about = "percentage of lines that are read",
                .initial = 100,
                .least = 0,
                .most = 100},
               {.name = "writes",
                .about = "percentage of lines that are written",
                .initial = 50,
                .least = 0,
                .most = 100},
               {.name = "latency",
                .about = "percentage of words that are walked down columns",
                .initial = 0,
                .least = 0,
                .most = 100},
               {.name = "reuse",
                .about = "times that a line is used before the next",
                .initial = 1,
                .least = 1,
                .most = 1000000}},
    .unit = "accesses",
    .shape = shape,
    .prepare = prepare,
    .run = run,
    .operations = operations,
    .check = check,
};
