#define _GNU_SOURCE
#include "options.h"
#include "cache.h"
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_LEAST = 4096, REPEAT_DEFAULT = 10, OWN_OPTION = 256 };

static const struct {
    const char *name;
    size_t bytes;
} sizes[] = {
    {"mini", (size_t)64 << 10},   {"small", (size_t)1 << 20},       {"medium", (size_t)16 << 20},
    {"large", (size_t)128 << 20}, {"extralarge", (size_t)1 << 30},
};

static const size_t size_count = sizeof sizes / sizeof sizes[0];

static void print_help(void)
{
    printf("%s: %s\n\n"
           "  --size SIZE        mini, small, medium (default), large, extralarge, bytes, or a\n"
           "                     number with x: so many times the last-level cache\n"
           "  --llc BYTES        the size of that cache, if the machine's answer is not wanted\n"
           "  --repeat R         timed repetitions (default %d)\n",
           pattern.name, pattern.about, REPEAT_DEFAULT);
    for (int o = 0; o < PATTERN_OPTIONS && pattern.option[o].name != NULL; o++) {
        const struct pattern_option *option = &pattern.option[o];
        printf("  --%-16s %s: ", option->name, option->about);
        if (option->word[0] == NULL)
            printf("%ld to %ld (default %ld)\n", option->least, option->most, option->initial);
        for (int w = 0; w < PATTERN_WORDS && option->word[w] != NULL; w++)
            printf("%s%s", w == 0 ? "" : ", ", option->word[w]);
        if (option->word[0] != NULL)
            printf(" (default %s)\n", option->word[0]);
    }
    printf("  --describe         print one JSON line with the bytes of data, and stop\n"
           "  --help             this text\n\n");
    for (size_t s = 0; s < size_count; s++)
        printf("  %-12s %12zu bytes\n", sizes[s].name, sizes[s].bytes);
}

/* Ends the program with a sentence about how it was called. */
__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", pattern.name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see --help\n");
    va_end(arguments);
    exit(2);
}

static long number(const char *option, const char *text, long least, long most)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > most)
        refuse("--%s takes a whole number from %ld to %ld, not '%s'", option, least, most, text);
    return value;
}

static long own_value(const struct pattern_option *option, const char *text)
{
    if (option->word[0] == NULL)
        return number(option->name, text, option->least, option->most);
    for (int w = 0; w < PATTERN_WORDS && option->word[w] != NULL; w++)
        if (strcmp(text, option->word[w]) == 0)
            return w;
    refuse("--%s does not take '%s'", option->name, text);
}

static size_t size_bytes(const char *text, size_t cache_bytes)
{
    for (size_t s = 0; s < size_count; s++)
        if (strcmp(text, sizes[s].name) == 0)
            return sizes[s].bytes;

    char *end = NULL;
    double bytes = strspn(text, "0123456789.") > 0 ? strtod(text, &end) : -1.0;
    if (end == NULL || (strcmp(end, "x") != 0 && *end != '\0'))
        refuse("there is no size '%s'", text);
    if (*end == 'x') {
        if (cache_bytes == 0)
            cache_bytes = cache_last_level_bytes();
        if (cache_bytes == 0)
            refuse("size '%s' needs the size of the last-level cache, which this machine does not "
                   "tell: give it with --llc BYTES", text);
        bytes *= (double)cache_bytes;
    }
    if (bytes < BYTES_LEAST || bytes >= (double)PTRDIFF_MAX)
        refuse("size '%s' is less than %d bytes or more than can be addressed", text, BYTES_LEAST);
    return (size_t)bytes;
}

struct request read_arguments(int argc, char **argv)
{
    struct option options[6 + PATTERN_OPTIONS] = {
        {"size", required_argument, NULL, 's'},   {"llc", required_argument, NULL, 'l'},
        {"repeat", required_argument, NULL, 'r'}, {"describe", no_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
    };
    struct request request = {.plan = {.size = "medium", .repeat = REPEAT_DEFAULT}};
    struct pattern_plan *plan = &request.plan;
    size_t cache_bytes = 0;
    int option, at;

    for (int o = 0; o < PATTERN_OPTIONS && pattern.option[o].name != NULL; o++) {
        options[5 + o] =
            (struct option){pattern.option[o].name, required_argument, NULL, OWN_OPTION + o};
        plan->value[o] = pattern.option[o].initial;
    }
    opterr = 0;
    while (at = optind, (option = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
        switch (option) {
        case 's':
            plan->size = optarg;
            break;
        case 'l':
            cache_bytes = (size_t)number("llc", optarg, 1, LONG_MAX);
            break;
        case 'r':
            plan->repeat = number("repeat", optarg, 1, INT_MAX);
            break;
        case 'd':
            request.describe = true;
            break;
        case 'h':
            print_help();
            exit(0);
        case ':':
            refuse("%s needs a value", argv[at]);
        case '?':
            refuse("there is no option %s", argv[at]);
        default:
            plan->value[option - OWN_OPTION] =
                own_value(&pattern.option[option - OWN_OPTION], optarg);
        }
    }
    if (optind < argc)
        refuse("there is nothing to do with '%s'", argv[optind]);
    plan->bytes = size_bytes(plan->size, cache_bytes);
    return request;
}
