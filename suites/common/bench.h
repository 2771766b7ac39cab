/* What every program that measures is made of: rows, the parameters that turn
 * a row into cases, and the settings of the case that runs.
 *
 * The protocol that the programs speak is in suites/README.md.
 */
#ifndef FATHOMP_BENCH_H
#define FATHOMP_BENCH_H

#define MAX_PARAMETERS 2

/* A quantity that a row is measured for. The lists end with 0. */
struct parameter {
    const char *name;   /* "chunk" */
    const char *symbol; /* "n", in the row's name */
    const char *unit;   /* "iterations" */
    const long *values;
    const long *quick;
};

struct row {
    const char *name; /* without its parameters' symbols */
    const struct parameter *parameters[MAX_PARAMETERS];
    /* Gets ready for the parameters in `value`. Returns NULL, or why this case
     * cannot be measured here. May be NULL. */
    const char *(*prepare)(void);
    /* The work of `reps` repetitions without the construct; NULL if the row is
     * compared with nothing. */
    void (*reference)(long reps);
    /* The work with the construct. Returns 0, or the number of wrong results
     * seen: a runtime that is fast because it is wrong must not win. */
    long (*run)(long reps);
    /* A check that would disturb the measurement, made once before it; returns
     * the number of wrong results. May be NULL. */
    long (*check)(void);
    /* Bytes passed over and accesses made by one repetition; NULL if these
     * have no meaning. */
    double (*bytes)(void);
    double (*accesses)(void);
    /* The team shares the repetitions out: their number must be a multiple of
     * the number of threads. */
    int shared_out;
};

/* The rows of one file. */
struct rows {
    const char *group;
    const char *file;
    const char *language;
    const struct row *first; /* ends with a row that has no name */
};

/* Enters a file's rows in the program's list. The list is a section of the
 * executable, so that a file can be left out of the link without any other
 * file having to know. */
#define ENTER_ROWS_OF(language, file, group, table)                              \
    static const struct rows table##_entry = {group, file, language, table};     \
    static const struct rows *const table##_pointer                              \
        __attribute__((section("bench_rows"), used)) = &table##_entry
#define ENTER_ROWS(group, table) ENTER_ROWS_OF("C", __FILE__, group, table)

/* Settings of the case that runs: constant once it has begun. */
extern int threads;                /* size of the team */
extern long delay_length;          /* steps of delay() in one repetition */
extern long value[MAX_PARAMETERS]; /* of the row's parameters */

#endif
