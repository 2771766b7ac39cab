/* Finding rows and cases. */
#include "case.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The linker's names for the ends of the section that ENTER_ROWS fills. */
extern const struct rows *const __start_bench_rows[];
extern const struct rows *const __stop_bench_rows[];

void each_row(void (*visit)(const struct rows *, const struct row *))
{
    for (const struct rows *const *r = __start_bench_rows; r < __stop_bench_rows; r++)
        for (const struct row *row = (*r)->first; row->name; row++)
            if (row->run)
                visit(*r, row);
}

int parameter_count(const struct row *row)
{
    int count = 0;
    while (count < MAX_PARAMETERS && row->parameters[count])
        count++;
    return count;
}

/* Reads exactly `count` positive integers, each after one space. */
static int read_values(const char *text, int count, long *values)
{
    for (int i = 0; i < count; i++) {
        if (text[0] != ' ' || text[1] < '1' || text[1] > '9')
            return 0;
        char *end;
        values[i] = strtol(text + 1, &end, 10);
        text = end;
    }
    return *text == '\0';
}

static const char *wanted;
static struct test_case *answer;
static int answered;

static void compare(const struct rows *rows, const struct row *row)
{
    size_t length = strlen(row->name);
    struct test_case candidate = {.rows = rows, .row = row};
    if (answered || strncmp(wanted, row->name, length) != 0 ||
        !read_values(wanted + length, parameter_count(row), candidate.value))
        return;
    *answer = candidate;
    answered = 1;
}

int find_case(const char *name, struct test_case *found)
{
    wanted = name;
    answer = found;
    answered = 0;
    each_row(compare);
    return answered;
}

void write_name(const struct row *row, const long *values, char text[MAX_NAME])
{
    int length = snprintf(text, MAX_NAME, "%s", row->name);
    for (int i = 0; i < parameter_count(row) && length < MAX_NAME; i++) {
        char *end = text + length;
        size_t room = (size_t)(MAX_NAME - length);
        length += values ? snprintf(end, room, " %ld", values[i])
                         : snprintf(end, room, " %s", row->parameters[i]->symbol);
    }
}
