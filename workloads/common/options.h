/* The command line of a program whose size is chosen when it is run. */
#ifndef FATHOMP_OPTIONS_H
#define FATHOMP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { DATA_SETS = 5, OWN_OPTIONS = 5, OPTION_WORDS = 8 };

/* mini, small, medium, large, extralarge */
extern const char *const options_data_sets[DATA_SETS];

/* An option of one program: one of some words, the first being the default, or
 * a number. */
struct own_option {
    const char *name; /* NULL: no such option */
    const char *about;
    const char *word[OPTION_WORDS];  /* none: a number */
    long initial, least, most;       /* of a number */
};

/* What the options of a program are. */
struct program {
    const char *name;
    const char *about;                  /* one line */
    const struct own_option *option;    /* OWN_OPTIONS of them, or NULL */
    long repeat;                        /* by default */
    const char *more_sizes;             /* that --size takes, such as "bytes"; or NULL */
    void (*print_data_set)(int set);    /* what --help says of it */
};

/* What the command line asks for. */
struct request {
    const char *size;
    size_t cache_bytes; /* of the last level; 0 if nobody tells */
    long repeat;
    bool describe;
    long value[OWN_OPTIONS]; /* of the program's own options: the number, or which word */
};

/* Exits with 0 after --help, and with 2 if the arguments make no sense. */
struct request options_read(const struct program *program, int argc, char **argv);

/* Which data set the size is, or -1. */
int options_data_set(const struct request *request);

/* The bytes that a size like 4x asks for; 0 if it is none of these. Exits with 2 if
 * the size of the cache is not known. */
double options_cache_multiple(const struct program *program, const struct request *request);

/* Ends the program with 2 and a sentence about how it was called. */
__attribute__((noreturn, format(printf, 2, 3))) void
options_refuse(const struct program *program, const char *format, ...);

#endif
