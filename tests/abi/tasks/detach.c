// A detached task is complete once its event is fulfilled, by whomever.
#include "check.h"
#include <omp.h>

static int order; // only its address matters, to depend clauses

int main(void)
{
    for (int round = 0; round < 30; round++) {
        int after = 0, body = 0, fulfilled = 0;
#pragma omp parallel
#pragma omp single
        {
            omp_event_handle_t event;
#pragma omp task detach(event) depend(out : order) shared(body)
            __atomic_store_n(&body, 1, __ATOMIC_RELEASE);
#pragma omp task depend(in : order) shared(after, body, fulfilled)
            {
                CHECK_EQ(__atomic_load_n(&body, __ATOMIC_ACQUIRE), 1);
                CHECK_EQ(__atomic_load_n(&fulfilled, __ATOMIC_ACQUIRE), 1);
                after = 1;
            }
            // May run before, after or beside the detached task's body.
#pragma omp task shared(fulfilled) firstprivate(event)
            {
                __atomic_store_n(&fulfilled, 1, __ATOMIC_RELEASE);
                omp_fulfill_event(event);
            }
#pragma omp taskwait
            CHECK_EQ(after, 1);
        }
        // Fulfilled inside its own body; waited for by a taskgroup.
        int done = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
        {
            omp_event_handle_t own;
#pragma omp task detach(own) shared(done)
            {
                omp_fulfill_event(own);
                done = 1;
            }
        }
        CHECK_EQ(done, 1);
    }
    printf("ok\n");
    return check_result();
}
