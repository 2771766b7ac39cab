#define _GNU_SOURCE
#include "data.h"
#include "polybench.h"
#include "size.h"
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const struct polybench_kernel *const kernel = &polybench_kernel;

/* What the command line asks for. */
struct plan {
    const char *size;
    size_t cache_bytes; /* 0: ask the machine */
    long repeat;
    bool describe;
};

static void print_help(void)
{
    printf("%s: %s\n\n"
           "  --size SIZE    mini, small, medium (default), large, extralarge, or a number\n"
           "                 with x: data of about so many times the last-level cache\n"
           "  --llc BYTES    the size of that cache, if the machine's answer is not wanted\n"
           "  --repeat R     timed repetitions, each on the same initial data (default 1)\n"
           "  --describe     print one JSON line with the bytes of data, and stop\n"
           "  --help         this text\n\n",
           kernel->name, kernel->about);
    for (int s = 0; s < POLYBENCH_SETS; s++) {
        printf("  %-12s", size_names[s]);
        for (int p = 0; p < POLYBENCH_PARAMETERS && kernel->parameter[p] != NULL; p++)
            printf(" %s=%d", kernel->parameter[p], kernel->set[s][p]);
        printf("\n");
    }
}

static long positive(const char *option, const char *text)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 1 || value == LONG_MAX) {
        fprintf(stderr, "%s: --%s takes a positive whole number, not '%s'\n", kernel->name, option,
                text);
        exit(2);
    }
    return value;
}

static struct plan read_arguments(int argc, char **argv)
{
    static const struct option options[] = {
        {"size", required_argument, NULL, 's'},   {"llc", required_argument, NULL, 'l'},
        {"repeat", required_argument, NULL, 'r'}, {"describe", no_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    struct plan plan = {.size = "medium", .repeat = 1};
    int option, at;

    opterr = 0;
    while (at = optind, (option = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
        switch (option) {
        case 's':
            plan.size = optarg;
            break;
        case 'l':
            plan.cache_bytes = (size_t)positive("llc", optarg);
            break;
        case 'r':
            plan.repeat = positive("repeat", optarg);
            break;
        case 'd':
            plan.describe = true;
            break;
        case 'h':
            print_help();
            exit(0);
        case ':':
            fprintf(stderr, "%s: %s needs a value; see --help\n", kernel->name, argv[at]);
            exit(2);
        default:
            fprintf(stderr, "%s: there is no option %s; see --help\n", kernel->name, argv[at]);
            exit(2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: there is nothing to do with '%s'; see --help\n", kernel->name,
                argv[optind]);
        exit(2);
    }
    return plan;
}

int main(int argc, char **argv)
{
    struct plan plan = read_arguments(argc, argv);
    int n[POLYBENCH_PARAMETERS];
    const char *complaint = size_parameters(kernel, plan.size, plan.cache_bytes, n);
    if (complaint != NULL) {
        fprintf(stderr, "%s: size '%s' %s\n", kernel->name, plan.size, complaint);
        return 2;
    }
    size_t bytes = data_bytes(kernel, n);
    if (plan.describe) {
        workload_describe(kernel->name, plan.size, bytes);
        return 0;
    }

    printf("%s:", kernel->about);
    for (int p = 0; p < POLYBENCH_PARAMETERS && kernel->parameter[p] != NULL; p++)
        printf(" %s=%d", kernel->parameter[p], n[p]);
    printf(", %.3f MB\n", 1e-6 * (double)bytes);

    static void *array[POLYBENCH_ARRAYS];
    data_allocate(kernel, n, array);
    workload_threads();
    double seconds = 0.0;
    for (long r = 0; r < plan.repeat; r++) {
        data_initialise(kernel, n, array);
        double start = workload_seconds();
        kernel->run(n, array);
        seconds += workload_seconds() - start;
    }

    double checksum = data_checksum(kernel, n, array);
    return workload_finish(&(struct workload_result){
        .suite = "polybench",
        .name = kernel->name,
        .size = plan.size,
        .iterations = plan.repeat,
        .seconds = seconds,
        .operations = (double)plan.repeat * kernel->operations(n),
        .unit = kernel->unit != NULL ? kernel->unit : "floating-point",
        .checksum = checksum,
        /* Right is what the serial program says; no kernel leaves the numbers. */
        .verdict = isfinite(checksum) ? WORKLOAD_UNKNOWN : WORKLOAD_WRONG,
    });
}
