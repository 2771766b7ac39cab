// Mutual exclusion in the inner loop.
// critical: a critical construct around one addition; named: one with a name around a
// maximum; lock: a lock of the program's around a table of counts.
#include <cstring>
#include <iostream>
#include <omp.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "critical";
    const int n = 3000000;
    double sum = 0;
    long table[64] = {0};
    if (std::strcmp(way, "critical") == 0) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; i++) {
            const double x = 1.0 / (i + 1);
#pragma omp critical
            sum += x;
        }
    } else if (std::strcmp(way, "named") == 0) {
#pragma omp parallel
        {
#pragma omp for
            for (int i = 0; i < n; i++) {
                const double x = (i * 7919L) % 10007;
#pragma omp critical(largest)
                {
                    if (x > sum)
                        sum = x;
                }
            }
        }
    } else {
        omp_lock_t guard;
        omp_init_lock(&guard);
#pragma omp parallel for
        for (int i = 0; i < n; i++) {
            omp_set_lock(&guard);
            table[(i * 31) & 63]++;
            omp_unset_lock(&guard);
        }
        omp_destroy_lock(&guard);
    }
    for (long count : table)
        sum += count;
    std::cout << sum << '\n';
}
