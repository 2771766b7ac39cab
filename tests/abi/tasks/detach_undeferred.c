// What waits for an undeferred task with an event waits for the event as well.
#include "check.h"
#include <omp.h>
#include <pthread.h>

static omp_event_handle_t given;
static int is_given, fulfilled;

// A thread of the program's own fulfils the event when it has got it.
static void *fulfill(void *argument)
{
    while (!__atomic_load_n(&is_given, __ATOMIC_ACQUIRE))
        sched_yield();
    __atomic_store_n(&fulfilled, 1, __ATOMIC_RELEASE);
    omp_fulfill_event(given);
    return argument;
}

static void by_another_thread(int group)
{
    pthread_t thread;
    is_given = fulfilled = 0;
    CHECK_EQ(pthread_create(&thread, NULL, fulfill, NULL), 0);
    // On several nodes an event is fulfilled on its own, where this thread is.
#pragma omp parallel
#pragma omp master
    {
        omp_event_handle_t event;
        if (group) {
#pragma omp taskgroup
            {
#pragma omp task detach(event) if (0)
                {
                    given = event;
                    __atomic_store_n(&is_given, 1, __ATOMIC_RELEASE);
                }
            }
        } else {
#pragma omp task detach(event) if (0)
            {
                given = event;
                __atomic_store_n(&is_given, 1, __ATOMIC_RELEASE);
            }
#pragma omp taskwait
        }
        CHECK_EQ(__atomic_load_n(&fulfilled, __ATOMIC_ACQUIRE), 1);
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    for (int round = 0; round < 20; round++) {
        by_another_thread(0);
        by_another_thread(1);
        // In its own code, with a child that the task does not wait for.
        int done = 0, child = 0;
#pragma omp parallel
#pragma omp single
        {
            omp_event_handle_t event;
#pragma omp task detach(event) if (0) shared(done, child)
            {
#pragma omp task shared(child)
                child = 1;
                omp_fulfill_event(event);
                done = 1;
            }
            CHECK_EQ(done, 1);
        }
        CHECK_EQ(child, 1);
    }
    printf("ok\n");
    return check_result();
}
