/* What fathomp's runtime tells the interposer, as `types::interposer` says. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

static const struct interface {
    void (*enter)(uint32_t cause);
    void (*leave)(void);
    uint32_t (*name)(const char *text, size_t length);
    void (*mark)(uint32_t mark, uint32_t name);
    void (*counters)(const uint64_t *values);
    void (*identity)(uint32_t node, uint32_t thread);
    void (*ignore)(void);
} *interposer;

enum { BARRIER = 0, FETCH_FAULTS = 1, PAGES_IN = 2 };

static volatile uint64_t values[6];

static void *serve(void *argument)
{
    interposer->ignore();
    CHECK(write(1, "served\n", 7) == 7);
    interposer->enter(0);
    interposer->leave();
    interposer->ignore();
    return argument;
}

int main(void)
{
    const struct interface *(*find)(uint32_t);
    *(void **)&find = dlsym(RTLD_DEFAULT, "fathomp_paging_interface");
    CHECK(find && !find(0) && !find(99));
    interposer = find(2);
    CHECK(interposer);
    uint32_t barrier = interposer->name("a barrier", 9);
    CHECK(barrier != 0 && barrier == interposer->name("a barrier!", 9));
    CHECK(interposer->name("\xff", 1) == 0);

    interposer->identity(2, 1);
    values[FETCH_FAULTS] = 100;
    interposer->counters((const uint64_t *)values);
    values[FETCH_FAULTS] += 3;
    interposer->enter(barrier);
    values[FETCH_FAULTS] += 5;
    values[PAGES_IN] += 7;
    CHECK(write(1, "in a barrier\n", 13) == 13);
    interposer->leave();
    interposer->mark(BARRIER, barrier);
    interposer->mark(77, barrier);
    interposer->counters(NULL);

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, serve, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
