// fathomp: clang takes equal calls of routines together and counts on their answers
// fathomp: variants -O0 -O2
// GOMP_parallel_start and its relatives, which old compilers called: the
// caller itself runs the master's share between start and end.
#include "check.h"
#include <limits.h>
#include <omp.h>
#include <stdbool.h>

extern void GOMP_parallel_start(void (*)(void *), void *, unsigned);
extern void GOMP_parallel_end(void);
extern void GOMP_parallel_loop_static_start(void (*)(void *), void *, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_dynamic_start(void (*)(void *), void *, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_guided_start(void (*)(void *), void *, unsigned, long, long, long, long);
extern void GOMP_parallel_loop_runtime_start(void (*)(void *), void *, unsigned, long, long, long);
extern void GOMP_parallel_sections_start(void (*)(void *), void *, unsigned, unsigned);
extern bool GOMP_loop_static_next(long *, long *);
extern bool GOMP_loop_dynamic_next(long *, long *);
extern bool GOMP_loop_guided_next(long *, long *);
extern bool GOMP_loop_runtime_next(long *, long *);
extern void GOMP_loop_end_nowait(void);
extern unsigned GOMP_sections_next(void);
extern void GOMP_sections_end_nowait(void);

enum { N = 1000 };

static int seen[N];
static int members;

static void plain(void *data)
{
    CHECK_EQ(*(int *)data, 42);
    __atomic_add_fetch(&members, 1, __ATOMIC_RELAXED);
}

static bool (*next)(long *, long *);

static void loop(void *data)
{
    long from, to;
    (void)data;
    while (next(&from, &to))
        for (long i = from; i < to; i++)
            __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
    GOMP_loop_end_nowait();
}

static void sections(void *data)
{
    unsigned s;
    (void)data;
    while ((s = GOMP_sections_next()) != 0)
        __atomic_add_fetch(&seen[s], 1, __ATOMIC_RELAXED);
    GOMP_sections_end_nowait();
}

static void all_once(int from, int to)
{
    for (int i = from; i < to; i++) {
        CHECK_EQ(seen[i], 1);
        seen[i] = 0;
    }
}

int main(void)
{
    int data = 42;
    for (unsigned n = 0; n <= 4; n++) {
        members = 0;
        GOMP_parallel_start(plain, &data, n);
        CHECK_EQ(omp_get_level(), 1);
        plain(&data);
        GOMP_parallel_end();
        CHECK_EQ(omp_get_level(), 0);
        CHECK_EQ(members, n ? (int)n : omp_get_max_threads());

        next = GOMP_loop_static_next;
        GOMP_parallel_loop_static_start(loop, NULL, n, 0, N, 1, 0);
        loop(NULL);
        GOMP_parallel_end();
        all_once(0, N);

        GOMP_parallel_loop_static_start(loop, NULL, n, 0, N, 1, 7);
        loop(NULL);
        GOMP_parallel_end();
        all_once(0, N);

        next = GOMP_loop_dynamic_next;
        GOMP_parallel_loop_dynamic_start(loop, NULL, n, 0, N, 1, 3);
        loop(NULL);
        GOMP_parallel_end();
        all_once(0, N);

        next = GOMP_loop_guided_next;
        GOMP_parallel_loop_guided_start(loop, NULL, n, 0, N, 1, 2);
        loop(NULL);
        GOMP_parallel_end();
        all_once(0, N);

        next = GOMP_loop_runtime_next;
        GOMP_parallel_loop_runtime_start(loop, NULL, n, 0, N, 1);
        loop(NULL);
        GOMP_parallel_end();
        all_once(0, N);

        GOMP_parallel_sections_start(sections, NULL, n, 9);
        sections(NULL);
        GOMP_parallel_end();
        all_once(1, 10);
        CHECK_EQ(seen[0], 0);
    }
    // A nested pair of legacy regions.
    omp_set_max_active_levels(2);
    members = 0;
    GOMP_parallel_start(plain, &data, 2);
    GOMP_parallel_start(plain, &data, 3);
    CHECK_EQ(omp_get_level(), 2);
    CHECK_EQ(omp_get_team_size(2), 3);
    plain(&data);
    GOMP_parallel_end();
    plain(&data);
    GOMP_parallel_end();
    CHECK_EQ(members, 5);
    printf("ok\n");
    return check_result();
}
