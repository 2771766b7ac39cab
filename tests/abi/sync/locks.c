// Simple and nested locks.
#include "check.h"
#include <omp.h>

int main(void)
{
    enum { ROUNDS = 2000 };
    omp_lock_t lock, other;
    omp_nest_lock_t nest;
    long count = 0, nested = 0, tried = 0;
    omp_init_lock(&lock);
    omp_init_lock(&other);
    omp_init_nest_lock(&nest);
    CHECK_EQ(omp_test_lock(&lock), 1);
    CHECK_EQ(omp_test_lock(&lock), 0);
    omp_unset_lock(&lock);
    CHECK_EQ(omp_test_nest_lock(&nest), 1);
    CHECK_EQ(omp_test_nest_lock(&nest), 2);
    omp_set_nest_lock(&nest);
    CHECK_EQ(omp_test_nest_lock(&nest), 4);
    for (int i = 0; i < 4; i++)
        omp_unset_nest_lock(&nest);
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++) {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        while (!omp_test_lock(&other)) {
        }
        tried++;
        omp_unset_lock(&other);
        omp_set_nest_lock(&nest);
        nested++;
        CHECK_EQ(omp_test_nest_lock(&nest), 2);
        nested++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    long want = (long)ROUNDS * omp_get_max_threads();
    CHECK_EQ(count, want);
    CHECK_EQ(tried, want);
    CHECK_EQ(nested, 2 * want);
    // Held by one thread, tried by the others.
    omp_set_nest_lock(&nest);
    omp_set_lock(&lock);
#pragma omp parallel num_threads(4)
    {
        CHECK_EQ(omp_test_lock(&lock), 0);
        // A nested lock belongs to a task: also the master's implicit task
        // inside the region is another task than the one that took it.
        if (omp_get_thread_num() != 0)
            CHECK_EQ(omp_test_nest_lock(&nest), 0);
    }
    omp_unset_lock(&lock);
    omp_unset_nest_lock(&nest);
    // Locks may be unset and destroyed in another task of the same thread.
    omp_destroy_lock(&lock);
    omp_destroy_lock(&other);
    omp_destroy_nest_lock(&nest);
    omp_init_lock(&lock);
    CHECK_EQ(omp_test_lock(&lock), 1);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    printf("%ld\n", want);
    return check_result();
}
