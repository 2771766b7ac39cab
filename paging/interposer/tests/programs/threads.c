/* Threads that begin and end in every way, and wait for each other. */
#include "check.h"
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int pipe_ends[2], ready, cleaned;

static void *reads(void *file)
{
    char byte;
    int zero = open("/dev/zero", O_RDONLY);
    CHECK(zero >= 0 && read(zero, &byte, 1) == 1 && close(zero) == 0);
    return file;
}

static void *exits(void *argument)
{
    reads(argument);
    pthread_exit((void *)5);
}

static void cleans(void *argument)
{
    (void)argument;
    cleaned++;
}

static void *blocks(void *argument)
{
    char byte;
    pthread_cleanup_push(cleans, NULL);
    CHECK(read(pipe_ends[0], &byte, 1) == 1);
    pthread_cleanup_pop(0);
    return argument;
}

static void *waits(void *argument)
{
    CHECK(pthread_mutex_lock(&mutex) == 0);
    ready = 1;
    CHECK(pthread_cond_wait(&condition, &mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(sem_wait(&semaphore) == 0);
    int last = pthread_barrier_wait(&barrier);
    CHECK(last == 0 || last == PTHREAD_BARRIER_SERIAL_THREAD);
    return argument;
}

static int c11(void *argument)
{
    return *(int *)argument;
}

int main(void)
{
    pthread_t thread;
    void *value;
    CHECK(pthread_create(&thread, NULL, reads, (void *)7) == 0);
    CHECK(pthread_join(thread, &value) == 0 && value == (void *)7);
    CHECK(pthread_create(&thread, NULL, exits, NULL) == 0);
    CHECK(pthread_join(thread, &value) == 0 && value == (void *)5);

    CHECK(pipe(pipe_ends) == 0);
    CHECK(pthread_create(&thread, NULL, blocks, NULL) == 0);
    usleep(20000);
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &value) == 0 && value == PTHREAD_CANCELED && cleaned == 1);

    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0 && sem_init(&semaphore, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
    for (int seen = 0; !seen;) {
        CHECK(pthread_mutex_lock(&mutex) == 0);
        seen = ready;
        CHECK(pthread_mutex_unlock(&mutex) == 0);
        usleep(1000);
    }
    usleep(20000);
    CHECK(pthread_cond_signal(&condition) == 0);
    usleep(20000);
    CHECK(sem_post(&semaphore) == 0);
    usleep(20000);
    int last = pthread_barrier_wait(&barrier);
    CHECK(last == 0 || last == PTHREAD_BARRIER_SERIAL_THREAD);
    CHECK(pthread_join(thread, NULL) == 0);

    /* Locks of each kind behave as without the interposer. */
    pthread_mutexattr_t kind;
    pthread_mutex_t checked, recursive;
    CHECK(pthread_mutexattr_init(&kind) == 0);
    CHECK(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK) == 0);
    CHECK(pthread_mutex_init(&checked, &kind) == 0);
    CHECK(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == EDEADLK);
    CHECK(pthread_mutex_unlock(&checked) == 0);
    CHECK(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE) == 0);
    CHECK(pthread_mutex_init(&recursive, &kind) == 0);
    CHECK(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0);
    CHECK(pthread_mutex_unlock(&recursive) == 0 && pthread_mutex_unlock(&recursive) == 0);

    /* The smallest stacks, many at a time. */
    pthread_attr_t attributes;
    pthread_t many[64];
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    for (int at = 0; at < 64; at++)
        CHECK(pthread_create(&many[at], &attributes, reads, NULL) == 0);
    for (int at = 0; at < 64; at++)
        CHECK(pthread_join(many[at], NULL) == 0);

    thrd_t other;
    int number = 9, result;
    CHECK(thrd_create(&other, c11, &number) == thrd_success);
    CHECK(thrd_join(other, &result) == thrd_success && result == 9);
    return 0;
}
