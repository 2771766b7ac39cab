// Tasks that give way while they wait for one another: stages of a pipeline that poll, tied and
// untied, in a taskgroup, and around a lock. Each needs a thread of its own, so fewer threads
// than stages are not asked for.
#include "check.h"
#include <omp.h>
#include <stdatomic.h>

enum { ITEMS = 40 };

static atomic_int first, second;

static void pass_on(void) {
    for (int i = 0; i < ITEMS; i++) {
        int item;
        while ((item = atomic_load(&first)) < 0) {
#pragma omp taskyield
        }
        atomic_store(&first, -1);
        while (atomic_load(&second) >= 0) {
#pragma omp taskyield
        }
        atomic_store(&second, 2 * item);
    }
}

static long take(void) {
    long sum = 0;
    for (int i = 0; i < ITEMS; i++) {
        while (atomic_load(&second) < 0) {
#pragma omp taskyield
        }
        sum += atomic_load(&second);
        atomic_store(&second, -1);
    }
    return sum;
}

static void give(void) {
    for (int i = 0; i < ITEMS; i++) {
        while (atomic_load(&first) >= 0) {
#pragma omp taskyield
        }
        atomic_store(&first, i);
    }
}

// The consumer is made first, so that whoever looks for a task finds one that waits.
static long pipeline(int untied) {
    long sum = 0;
    atomic_store(&first, -1);
    atomic_store(&second, -1);
#pragma omp parallel
#pragma omp single
    {
        if (untied) {
#pragma omp task untied shared(sum)
            sum = take();
#pragma omp task untied
            pass_on();
            give();
#pragma omp taskwait
        } else {
#pragma omp taskgroup
            {
#pragma omp task shared(sum)
                sum = take();
#pragma omp task
                pass_on();
                give();
            }
        }
    }
    return sum;
}

// Whoever cannot have the lock gives way.
static int with_lock(void) {
    int sum = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task shared(sum, lock)
        {
            while (!omp_test_lock(&lock)) {
#pragma omp taskyield
            }
            sum++;
            omp_unset_lock(&lock);
        }
    }
    omp_destroy_lock(&lock);
    return sum;
}

// Every thread gives way; the tasks that they poll for need nobody.
static int all_poll(void) {
    atomic_int done = 0;
#pragma omp parallel
    {
#pragma omp task shared(done)
        atomic_fetch_add(&done, 1);
#pragma omp taskyield
    }
    return atomic_load(&done);
}

int main(void) {
    const long expected = (long)ITEMS * (ITEMS - 1);
    if (omp_get_max_threads() >= 3) {
        CHECK(pipeline(0) == expected);
        CHECK(pipeline(1) == expected);
    }
    CHECK(with_lock() == 100);
    int threads = 0;
#pragma omp parallel
#pragma omp master
    threads = omp_get_num_threads();
    CHECK(all_poll() == threads);
    return check_result();
}
