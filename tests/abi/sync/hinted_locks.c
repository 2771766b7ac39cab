// fathomp: libgomp lacks omp_init_lock_with_hint, although its header declares it
// Locks made with hints behave like others.
#include "check.h"
#include <omp.h>

// Weak, so that the program links and can say what is missing.
#pragma weak omp_init_lock_with_hint
#pragma weak omp_init_nest_lock_with_hint

int main(void)
{
    static const omp_sync_hint_t hints[] = {
        omp_sync_hint_none, omp_sync_hint_uncontended, omp_sync_hint_contended,
        omp_sync_hint_nonspeculative, omp_sync_hint_speculative,
        omp_sync_hint_contended | omp_sync_hint_nonspeculative,
    };
    void (*volatile init)(omp_lock_t *, omp_sync_hint_t) = omp_init_lock_with_hint;
    void (*volatile init_nest)(omp_nest_lock_t *, omp_sync_hint_t) = omp_init_nest_lock_with_hint;
    CHECK(init != NULL);
    CHECK(init_nest != NULL);
    if (!init || !init_nest)
        return check_result();
    for (size_t h = 0; h < sizeof hints / sizeof hints[0]; h++) {
        omp_lock_t lock;
        omp_nest_lock_t nest;
        long count = 0;
        init(&lock, hints[h]);
        init_nest(&nest, hints[h]);
#pragma omp parallel
        for (int i = 0; i < 500; i++) {
            omp_set_lock(&lock);
            omp_set_nest_lock(&nest);
            omp_set_nest_lock(&nest);
            count++;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
            omp_unset_lock(&lock);
        }
        CHECK_EQ(count, 500L * omp_get_max_threads());
        omp_destroy_lock(&lock);
        omp_destroy_nest_lock(&nest);
    }
    printf("ok\n");
    return check_result();
}
