/* The program's rows, and cases by name. */
#ifndef FATHOMP_CASE_H
#define FATHOMP_CASE_H

#include "bench.h"
#include <stddef.h>

#define MAX_NAME 96

/* A row with values for its parameters. */
struct test_case {
    const struct rows *rows;
    const struct row *row;
    long value[MAX_PARAMETERS];
};

/* Calls `visit` for every row whose function was linked. */
void each_row(void (*visit)(const struct rows *, const struct row *));

int parameter_count(const struct row *row);

/* The case that `name` names. Returns 0 if there is none. */
int find_case(const char *name, struct test_case *found);

/* Writes the row's name: with its parameters' symbols if `values` is NULL,
 * else as the name of the case with these values. */
void write_name(const struct row *row, const long *values, char text[MAX_NAME]);

#endif
