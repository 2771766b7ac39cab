// Random access iterators, range loops, unsigned and pointer loop variables.
#include "check.h"
#include <algorithm>
#include <deque>
#include <numeric>
#include <omp.h>
#include <vector>

int main()
{
    std::vector<int> v(1000);
    std::iota(v.begin(), v.end(), 0);
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 7)
    for (auto it = v.begin(); it < v.end(); ++it)
        sum += *it;
    CHECK_EQ(sum, 499500);
    sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int value : v)
        sum += value;
    CHECK_EQ(sum, 499500);
    std::deque<int> d(v.begin(), v.end());
    sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(guided)
    for (auto it = d.rbegin(); it < d.rend(); it += 3)
        sum += *it;
    CHECK_EQ(sum, 999L * 334 - 3L * 333 * 334 / 2);
    sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(monotonic : dynamic)
    for (const int *p = v.data() + 999; p >= v.data(); --p)
        sum += *p;
    CHECK_EQ(sum, 499500);
    sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : sum)
    for (std::size_t i = 0; i < v.size(); i++)
        sum += v[i];
    CHECK_EQ(sum, 499500);
    auto square = [&](int n) {
        long total = 0;
#pragma omp parallel for reduction(+ : total)
        for (int i = 0; i < n; i++)
            total += v[i];
        return total;
    };
    CHECK_EQ(square(10), 45);
    printf("%ld\n", sum);
    return check_result();
}
