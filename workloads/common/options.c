#define _GNU_SOURCE
#include "options.h"
#include "cache.h"
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_OPTION = 256 };

const char *const options_data_sets[DATA_SETS] = {"mini", "small", "medium", "large", "extralarge"};

void options_refuse(const struct program *program, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program->name);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see --help\n");
    va_end(arguments);
    exit(2);
}

/* The program's own option o, or NULL. */
static const struct own_option *own_option(const struct program *program, int o)
{
    bool is_there = program->option != NULL && o < OWN_OPTIONS && program->option[o].name != NULL;
    return is_there ? &program->option[o] : NULL;
}

static void print_own_option(const struct own_option *option)
{
    printf("  --%-16s %s: ", option->name, option->about);
    if (option->word[0] == NULL)
        printf("%ld to %ld (default %ld)\n", option->least, option->most, option->initial);
    for (int w = 0; w < OPTION_WORDS && option->word[w] != NULL; w++)
        printf("%s%s", w == 0 ? "" : ", ", option->word[w]);
    if (option->word[0] != NULL)
        printf(" (default %s)\n", option->word[0]);
}

static void print_help(const struct program *program)
{
    printf("%s: %s\n\n"
           "  --size SIZE        mini, small, medium (default), large, extralarge, %s%sor a\n"
           "                     number with x: so many times the last-level cache\n"
           "  --llc BYTES        the size of that cache, if the machine's answer is not wanted\n"
           "  --repeat R         timed repetitions (default %ld)\n",
           program->name, program->about, program->more_sizes ? program->more_sizes : "",
           program->more_sizes ? ", " : "", program->repeat);
    for (int o = 0; own_option(program, o) != NULL; o++)
        print_own_option(own_option(program, o));
    printf("  --describe         print one JSON line with the bytes of data, and stop\n"
           "  --help             this text\n\n");
    for (int set = 0; set < DATA_SETS; set++) {
        printf("  %-12s", options_data_sets[set]);
        program->print_data_set(set);
        printf("\n");
    }
}

static long number(const struct program *program, const char *option, const char *text, long least,
                   long most)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > most)
        options_refuse(program, "--%s takes a whole number from %ld to %ld, not '%s'", option,
                       least, most, text);
    return value;
}

static long own_value(const struct program *program, const struct own_option *option,
                      const char *text)
{
    if (option->word[0] == NULL)
        return number(program, option->name, text, option->least, option->most);
    for (int w = 0; w < OPTION_WORDS && option->word[w] != NULL; w++)
        if (strcmp(text, option->word[w]) == 0)
            return w;
    options_refuse(program, "--%s does not take '%s'", option->name, text);
}

struct request options_read(const struct program *program, int argc, char **argv)
{
    struct option options[6 + OWN_OPTIONS] = {
        {"size", required_argument, NULL, 's'},   {"llc", required_argument, NULL, 'l'},
        {"repeat", required_argument, NULL, 'r'}, {"describe", no_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
    };
    struct request request = {.size = "medium", .repeat = program->repeat};
    const struct own_option *own;
    int option, at;

    for (int o = 0; (own = own_option(program, o)) != NULL; o++) {
        options[5 + o] = (struct option){own->name, required_argument, NULL, OWN_OPTION + o};
        request.value[o] = own->word[0] == NULL ? own->initial : 0;
    }
    opterr = 0;
    while (at = optind, (option = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
        switch (option) {
        case 's':
            request.size = optarg;
            break;
        case 'l':
            request.cache_bytes = (size_t)number(program, "llc", optarg, 1, LONG_MAX - 1);
            break;
        case 'r':
            request.repeat = number(program, "repeat", optarg, 1, INT_MAX);
            break;
        case 'd':
            request.describe = true;
            break;
        case 'h':
            print_help(program);
            exit(0);
        case ':':
            options_refuse(program, "%s needs a value", argv[at]);
        case '?':
            options_refuse(program, "there is no option %s", argv[at]);
        default:
            own = own_option(program, option - OWN_OPTION);
            request.value[option - OWN_OPTION] = own_value(program, own, optarg);
        }
    }
    if (optind < argc)
        options_refuse(program, "there is nothing to do with '%s'", argv[optind]);
    if (request.cache_bytes == 0)
        request.cache_bytes = cache_last_level_bytes();
    return request;
}

int options_data_set(const struct request *request)
{
    for (int set = 0; set < DATA_SETS; set++)
        if (strcmp(request->size, options_data_sets[set]) == 0)
            return set;
    return -1;
}

double options_cache_multiple(const struct program *program, const struct request *request)
{
    const char *text = request->size;
    size_t digits = strspn(text, "0123456789.");
    char *end = NULL;
    double times = strtod(text, &end);
    if (digits == 0 || end != text + digits || strcmp(end, "x") != 0)
        return 0.0;
    if (request->cache_bytes == 0)
        options_refuse(program,
                       "size '%s' needs the size of the last-level cache, which this machine does "
                       "not tell: give it with --llc BYTES",
                       text);
    return times * (double)request->cache_bytes;
}
