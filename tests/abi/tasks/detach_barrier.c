// A barrier waits for detached tasks whose events another thread fulfils.
#include "check.h"
#include <omp.h>

int main(void)
{
    enum { N = 10 };
    int completed = 0;
#pragma omp parallel
    {
#pragma omp single
        for (int i = 0; i < N; i++) {
            omp_event_handle_t event;
#pragma omp task detach(event)
            __atomic_add_fetch(&completed, 1, __ATOMIC_RELAXED);
#pragma omp task firstprivate(event)
            omp_fulfill_event(event);
        }
        CHECK_EQ(__atomic_load_n(&completed, __ATOMIC_RELAXED), N);
    }
    printf("%d\n", completed);
    return check_result();
}
