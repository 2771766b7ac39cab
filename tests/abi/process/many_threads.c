// fathomp: threads 2
// 64 threads on however few processors, with everything they can wait for.
#include "check.h"
#include <omp.h>

int main(void)
{
    long sum = 0, tasks = 0, locked = 0, critical = 0, ordered = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(64) reduction(+ : sum)
        {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 1000; i++)
                sum += i;
#pragma omp for ordered schedule(static, 1)
            for (int i = 0; i < 128; i++) {
#pragma omp ordered
                {
                    CHECK_EQ(ordered % 128, i);
                    ordered++;
                }
            }
#pragma omp single
            for (int i = 0; i < 500; i++) {
#pragma omp task
                __atomic_add_fetch(&tasks, 1, __ATOMIC_RELAXED);
            }
            omp_set_lock(&lock);
            locked++;
            omp_unset_lock(&lock);
#pragma omp critical
            critical++;
        }
    }
    CHECK_EQ(sum, 3L * 499500);
    CHECK_EQ(tasks, 1500);
    CHECK_EQ(locked, 3L * 64);
    CHECK_EQ(critical, 3L * 64);
    CHECK_EQ(ordered, 3 * 128);
    printf("ok\n");
    return check_result();
}
