/* Runs one test and prints its samples as one line of JSON.
 *
 *   epcc list                      names of the tests, one per line
 *   epcc calibrate NANOSECONDS     steps of delay() that take so long
 *   epcc run NAME DELAY TARGET_US SAMPLES LIMIT_MS
 *
 * The number of threads is OMP_NUM_THREADS's. Every sample is the time of one
 * repetition in nanoseconds, reference and construct apart, so that whoever
 * reads them can choose the statistic. Time comes from the kernel's monotonic
 * clock, never from the runtime that is being judged.
 */
#define _GNU_SOURCE
#include "epcc.h"
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_SAMPLES 1000

long delay_length;
int threads;

extern void GOMP_barrier(void);

static const struct test *const groups[] = {sync_tests, sched_tests, task_tests, nest_tests};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) void delay(long length)
{
    for (long i = 0; i < length; i++)
        __asm__ volatile("" ::: "memory");
}

static double sum;
static long double sum_long;

/* The work of `reps` repetitions without OpenMP. */
static void reference_work(enum reference kind, long reps)
{
    long leaves = 1L << TREE_DEPTH;
    switch (kind) {
    case REFERENCE_DELAY:
        for (long j = 0; j < reps; j++)
            delay(delay_length);
        break;
    case REFERENCE_ITERATIONS:
        for (long j = 0; j < reps * ITERATIONS_PER_THREAD; j++)
            delay(iteration_length);
        break;
    case REFERENCE_ADD:
        for (long j = 0; j < reps; j++) {
            sum += 1.0;
            __asm__ volatile("" ::: "memory");
        }
        break;
    case REFERENCE_ADD_LONG:
        for (long j = 0; j < reps; j++) {
            sum_long += 1.0L;
            __asm__ volatile("" ::: "memory");
        }
        break;
    case REFERENCE_TREE: /* every node but the root works */
        for (long j = 0; j < reps * (2 * leaves - 2); j++)
            delay(delay_length);
        break;
    case REFERENCE_LEAVES:
        for (long j = 0; j < reps * leaves; j++)
            delay(delay_length);
        break;
    }
}

struct plan {
    double target_ns;
    double limit_ns;
    long samples;
};

struct samples {
    long reps;
    long count;
    long wrong;
    double time_ns[MAX_SAMPLES];
};

static double timed(const struct test *test, int reference, long reps, long *wrong)
{
    double start = now_ns();
    if (reference)
        reference_work(test->reference, reps);
    else
        *wrong += test->run(reps);
    return now_ns() - start;
}

/* Finds how many repetitions fill the target time. The first calls also warm
 * the runtime up: no team is formed inside a sample. */
static long repetitions(const struct test *test, int reference, double target_ns, long *wrong)
{
    long reps = threads;
    timed(test, reference, reps, wrong);
    for (;;) {
        /* The fastest of some tries, or one slow try would end the search too
         * early and the samples would be short. */
        double time = 1e300;
        for (int i = 0; i < 5 && time >= 0.75 * target_ns; i++) {
            double again = timed(test, reference, reps, wrong);
            if (again < time)
                time = again;
        }
        if (time >= 0.75 * target_ns || reps > 100000000L)
            return reps;
        double grow = time > 0.0 ? 1.1 * target_ns / time : 10.0;
        if (grow > 10.0)
            grow = 10.0;
        long next = (long)((double)reps * grow);
        next -= next % threads;
        reps = next > reps ? next : reps + threads;
    }
}

/* Reference and construct take turns: a processor that changes its frequency
 * or is lent to another program for a while then disturbs both alike. */
static void sample(const struct test *test, struct plan plan, struct samples *reference,
                   struct samples *construct)
{
    reference->reps = repetitions(test, 1, plan.target_ns, &reference->wrong);
    construct->reps = repetitions(test, 0, plan.target_ns, &construct->wrong);
    double start = now_ns();
    for (long i = 0; i < plan.samples; i++) {
        if (i >= 3 && now_ns() - start > plan.limit_ns)
            break;
        double time = timed(test, 1, reference->reps, &reference->wrong);
        reference->time_ns[reference->count++] = time / (double)reference->reps;
        time = timed(test, 0, construct->reps, &construct->wrong);
        construct->time_ns[construct->count++] = time / (double)construct->reps;
    }
}

static void print_samples(const char *name, const struct samples *s)
{
    printf(",\"%s\":[", name);
    for (long i = 0; i < s->count; i++)
        printf("%s%.3f", i ? "," : "", s->time_ns[i]);
    printf("]");
}

/* The file that really answers the calls: a preload that did not take effect
 * must not pass for a measurement. */
static const char *runtime_path(void)
{
    Dl_info info;
    if (dladdr((void *)GOMP_barrier, &info) && info.dli_fname)
        return info.dli_fname;
    return "unknown";
}

static void print_json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text >= 0x20)
            putchar(*text);
    }
    putchar('"');
}

static const struct test *find(const char *name)
{
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (const struct test *t = groups[g]; t->name; t++)
            if (strcmp(t->name, name) == 0)
                return t;
    return NULL;
}

static int run(const struct test *test, struct plan plan)
{
    static struct samples reference, construct;
#pragma omp parallel
    {
#pragma omp master
        threads = omp_get_num_threads();
    }
    sample(test, plan, &reference, &construct);

    printf("{\"test\":");
    print_json_string(test->name);
    printf(",\"runtime\":");
    print_json_string(runtime_path());
    printf(",\"threads\":%d,\"reps\":%ld,\"wrong\":%ld", threads, construct.reps, construct.wrong);
    print_samples("reference_ns", &reference);
    print_samples("construct_ns", &construct);
    printf("}\n");
    return 0;
}

/* Steps of delay() that take `ns` nanoseconds: the fastest of many tries,
 * because anything else on the machine only makes a try slower. */
static long calibrate(double ns)
{
    double best = 1e300;
    const long length = 200000;
    for (int i = 0; i < 50; i++) {
        double start = now_ns();
        delay(length);
        double time = now_ns() - start;
        if (time < best)
            best = time;
    }
    long steps = (long)(ns * (double)length / best);
    return steps > 0 ? steps : 1;
}

static double positive(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (*end != '\0' || !(value > 0.0)) {
        fprintf(stderr, "epcc: '%s' is not a positive number\n", text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
            for (const struct test *t = groups[g]; t->name; t++)
                puts(t->name);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "calibrate") == 0) {
        printf("%ld\n", calibrate(positive(argv[2])));
        return 0;
    }
    if (argc == 7 && strcmp(argv[1], "run") == 0) {
        const struct test *test = find(argv[2]);
        if (!test) {
            fprintf(stderr, "epcc: no test is called '%s'; 'epcc list' names them\n", argv[2]);
            return 2;
        }
        delay_length = (long)positive(argv[3]);
        struct plan plan = {
            .target_ns = positive(argv[4]) * 1e3,
            .limit_ns = positive(argv[6]) * 1e6,
            .samples = (long)positive(argv[5]),
        };
        if (plan.samples > MAX_SAMPLES)
            plan.samples = MAX_SAMPLES;
        return run(test, plan);
    }
    fprintf(stderr, "usage: epcc list | calibrate NS | run NAME DELAY TARGET_US SAMPLES LIMIT_MS\n");
    return 2;
}
