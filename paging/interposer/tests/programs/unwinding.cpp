// A thread that is cancelled inside calls of each kind runs its destructors.
#include "check.h"
#include <initializer_list>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static int destroyed, ends[2];
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

struct Guard {
    ~Guard() { destroyed++; }
};

static void *reads(void *)
{
    Guard guard;
    char byte;
    CHECK(read(ends[0], &byte, 1) == 1);
    return nullptr;
}

static void *gets(void *)
{
    Guard guard;
    FILE *file = fdopen(ends[0], "r");
    getc(file);
    return nullptr;
}

static void *waits(void *)
{
    Guard guard;
    sem_wait(&semaphore);
    return nullptr;
}

static void *signalled(void *)
{
    Guard guard;
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&condition, &mutex);
    return nullptr;
}

static void *exits(void *)
{
    Guard guard;
    pthread_exit(nullptr);
}

int main()
{
    CHECK(pipe(ends) == 0 && sem_init(&semaphore, 0, 0) == 0);
    for (auto work : {reads, gets, waits, signalled, exits}) {
        pthread_t thread;
        destroyed = 0;
        CHECK(pthread_create(&thread, nullptr, work, nullptr) == 0);
        usleep(20000);
        pthread_cancel(thread);
        CHECK(pthread_join(thread, nullptr) == 0);
        CHECK(destroyed == 1);
    }
    return 0;
}
