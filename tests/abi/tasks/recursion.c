// Deep and bushy recursion with taskwait, and with final cutting it off.
#include "check.h"
#include <omp.h>

static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b) final(n < 8)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static long chain(int depth)
{
    long below = 0;
    if (depth == 0)
        return 0;
#pragma omp task shared(below)
    below = chain(depth - 1);
#pragma omp taskwait
    return below + 1;
}

int main(void)
{
    long f = 0, c = 0;
#pragma omp parallel
#pragma omp single
    {
        f = fib(18);
        c = chain(2000);
    }
    CHECK_EQ(f, 2584);
    CHECK_EQ(c, 2000);
    printf("%ld %ld\n", f, c);
    return check_result();
}
