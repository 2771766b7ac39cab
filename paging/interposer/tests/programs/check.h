/* What the programs have in common: a check that says what failed and ends with 1. */
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            int error = errno;                                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,                \
                    strerror(error));                                                         \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

#endif
