/* What every program here shares: checks that may be made by any thread, and
 * an exit code that counts those that failed. Uses nothing of OpenMP itself. */
#ifndef FATHOMP_CHECK_H
#define FATHOMP_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;

static inline void check_failed(const char *file, int line, const char *what)
{
    /* Only the first few are shown: a broken loop fails in every iteration. */
    if (__atomic_add_fetch(&check_failures, 1, __ATOMIC_SEQ_CST) <= 20)
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
}

#define CHECK(condition)                                    \
    do {                                                    \
        if (!(condition))                                   \
            check_failed(__FILE__, __LINE__, #condition);   \
    } while (0)

/* Equality of two integers; shows both. */
#define CHECK_EQ(left, right)                                                        \
    do {                                                                             \
        long long check_l = (long long)(left), check_r = (long long)(right);         \
        if (check_l != check_r) {                                                    \
            char check_text[300];                                                    \
            snprintf(check_text, sizeof check_text, "%s == %s (%lld and %lld)", #left, \
                     #right, check_l, check_r);                                      \
            check_failed(__FILE__, __LINE__, check_text);                            \
        }                                                                            \
    } while (0)

/* The exit code: the number of failed checks, at most 100. */
static inline int check_result(void)
{
    int failed = __atomic_load_n(&check_failures, __ATOMIC_SEQ_CST);
    return failed > 100 ? 100 : failed;
}

#endif
