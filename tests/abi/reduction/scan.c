// fathomp: clang 14 and 19 compute other sums, on LLVM's runtime too
// Inclusive and exclusive scans.
#include "check.h"
#include <omp.h>

enum { N = 1000 };

int main(void)
{
    static int in[N], out[N];
    for (int i = 0; i < N; i++)
        in[i] = i % 13 - 3;
    int sum = 5, want = 5;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < N; i++) {
        sum += in[i];
#pragma omp scan inclusive(sum)
        out[i] = sum;
    }
    for (int i = 0; i < N; i++) {
        want += in[i];
        CHECK_EQ(out[i], want);
    }
    CHECK_EQ(sum, want);

    sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < N; i++) {
        out[i] = sum;
#pragma omp scan exclusive(sum)
        sum += in[i];
    }
    want = 0;
    for (int i = 0; i < N; i++) {
        CHECK_EQ(out[i], want);
        want += in[i];
    }
    int most = -100;
#pragma omp parallel
#pragma omp for simd reduction(inscan, max : most)
    for (int i = 0; i < N; i++) {
        most = most > in[i] ? most : in[i];
#pragma omp scan inclusive(most)
        out[i] = most;
    }
    CHECK_EQ(out[N - 1], 9);
    printf("%d %d\n", sum, most);
    return check_result();
}
