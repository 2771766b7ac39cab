// fathomp: clang 14 counts the iterations of a loop over all of an unsigned type wrong
// Ranges at the limits of their types, and trip counts that no loop could walk.
#include "calls.h"
#include "check.h"
#include <limits.h>
#include <omp.h>

// Takes a few chunks of an endless range and leaves: the chunks must lie
// inside and not overlap. The schedule decides how large they are.
static void huge(bool (*start)(long, long, long, long, long *, long *), bool (*next)(long *, long *),
                 long from, long to, long step, long chunk)
{
    struct { long s, e; } got[64];
    int count = 0;
#pragma omp parallel
    {
        long s, e;
        bool more = start(from, to, step, chunk, &s, &e);
        for (int i = 0; more && i < 3; i++) {
            CHECK(step > 0 ? s >= from && e <= to && s < e : s <= from && e >= to && s > e);
            int slot = __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
            if (slot < 64) {
                got[slot].s = step > 0 ? s : e;
                got[slot].e = step > 0 ? e : s;
            }
            more = next(&s, &e);
        }
        GOMP_loop_end();
    }
    CHECK(count >= 1);
    for (int i = 0; i < count && i < 64; i++)
        for (int j = 0; j < i; j++)
            CHECK(got[i].e <= got[j].s || got[j].e <= got[i].s);
}

int main(void)
{
    long count = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : count)
    for (int i = INT_MAX - 10; i < INT_MAX; i++)
        count++;
    CHECK_EQ(count, 10);
    count = 0;
#pragma omp parallel for schedule(guided) reduction(+ : count)
    for (int i = INT_MIN; i < INT_MIN + 10; i++)
        count++;
    CHECK_EQ(count, 10);
    count = 0;
#pragma omp parallel for schedule(dynamic, 1000) reduction(+ : count)
    for (long i = LONG_MAX - 10; i < LONG_MAX; i++)
        count++;
    CHECK_EQ(count, 10);
    count = 0;
#pragma omp parallel for schedule(dynamic, 3) reduction(+ : count)
    for (long i = LONG_MIN + 10; i > LONG_MIN; i--)
        count++;
    CHECK_EQ(count, 10);
    count = 0;
#pragma omp parallel for schedule(guided, 3) reduction(+ : count)
    for (unsigned long long i = ULLONG_MAX - 10; i < ULLONG_MAX; i++)
        count++;
    CHECK_EQ(count, 10);
    count = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : count)
    for (unsigned i = 0; i < 3999999999u; i += 1000000000u)
        count++;
    CHECK_EQ(count, 4);
    count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (long i = LONG_MIN / 4; i < LONG_MAX / 4; i += LONG_MAX / 8)
        count++;
    CHECK_EQ(count, 5);

    huge(GOMP_loop_dynamic_start, GOMP_loop_dynamic_next, 0, LONG_MAX, 1, 1);
    huge(GOMP_loop_dynamic_start, GOMP_loop_dynamic_next, 0, LONG_MAX - 1, 1, LONG_MAX / 3);
    huge(GOMP_loop_dynamic_start, GOMP_loop_dynamic_next, LONG_MAX - 1, 0, -1, 1L << 40);
    huge(GOMP_loop_guided_start, GOMP_loop_guided_next, 0, LONG_MAX, 1, 1);
    huge(GOMP_loop_static_start, GOMP_loop_static_next, 0, LONG_MAX / 2, 1, 1L << 40);
    huge(GOMP_loop_static_start, GOMP_loop_static_next, 0, LONG_MAX / 2, 1, 0);
    huge(GOMP_loop_nonmonotonic_dynamic_start, GOMP_loop_nonmonotonic_dynamic_next, LONG_MIN / 2,
         LONG_MAX / 2, 2, 1L << 50);
    printf("ok\n");
    return check_result();
}
