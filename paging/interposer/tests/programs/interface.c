/* What fathomp's runtime tells the tap, as `types::interposer` says. */
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
} *tap;

enum { BARRIER = 0, FETCH_FAULTS = 1, PAGES_IN = 2 };

static volatile uint64_t values[6];

static void *serve(void *argument)
{
    tap->ignore();
    CHECK(write(1, "served\n", 7) == 7);
    tap->enter(0);
    tap->leave();
    tap->ignore();
    return argument;
}

int main(void)
{
    const struct interface *(*find)(uint32_t);
    *(void **)&find = dlsym(RTLD_DEFAULT, "fathomp_tap_interface");
    CHECK(find && !find(0) && !find(99));
    tap = find(2);
    CHECK(tap);
    uint32_t barrier = tap->name("a barrier", 9);
    CHECK(barrier != 0 && barrier == tap->name("a barrier!", 9));
    CHECK(tap->name("\xff", 1) == 0);

    tap->identity(2, 1);
    values[FETCH_FAULTS] = 100;
    tap->counters((const uint64_t *)values);
    values[FETCH_FAULTS] += 3;
    tap->enter(barrier);
    values[FETCH_FAULTS] += 5;
    values[PAGES_IN] += 7;
    CHECK(write(1, "in a barrier\n", 13) == 13);
    tap->leave();
    tap->mark(BARRIER, barrier);
    tap->mark(77, barrier);
    tap->counters(NULL);

    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, serve, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
