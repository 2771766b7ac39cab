// An interposer for tests: notes what the runtime tells it, checks what it was promised,
// and writes it to the file $TEST_INTERPOSER/PROCESS when the process ends.
//
// The interface is that of core/types/src/interposer.rs. Like the real one it
// is preloaded in front of the runtime and stands in front of functions that
// the runtime's cluster edition stands in front of, too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 1 << 14, NAMES = 128, COUNTERS = 6, DEPTH = 16, KINDS = 3 };

typedef struct {
    void (*enter)(uint32_t cause);
    void (*leave)(void);
    uint32_t (*name)(const char *text, size_t length);
    void (*mark)(uint32_t mark, uint32_t name);
    void (*counters)(const _Atomic uint64_t *values);
    void (*identity)(uint32_t node, uint32_t thread);
    void (*ignore)(void);
    void (*forked)(void);
} Interface;

typedef struct {
    int tid;
    uint32_t node, number;
    int ignored, depth, deepest;
    uint64_t enters[NAMES], since, spent_ns[NAMES];
    uint64_t marks[KINDS][NAMES];
    // Of all marks in their order: equal for equal sequences of kinds and names.
    uint64_t sequence;
    uint32_t stack[DEPTH];
    const _Atomic uint64_t *values;
    uint64_t base[COUNTERS], last[COUNTERS];
    const char *wrong;
} Thread;

static Thread threads[THREADS];
static atomic_int used;
static __thread __attribute__((tls_model("initial-exec"))) Thread *mine;

static char names[NAMES][64];
static atomic_int named;
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;
// Added to all numbers of names; others after each fork, so that old ones show.
static uint32_t offset = 1000;
static const char *folder;
static atomic_int done;

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static Thread *me(void) {
    if (!mine) {
        int index = atomic_fetch_add(&used, 1);
        if (index >= THREADS) abort();
        mine = &threads[index];
        mine->tid = (int)syscall(SYS_gettid);
        mine->node = mine->number = UINT32_MAX;
    }
    return mine;
}

static void look(Thread *t) {
    for (int i = 0; t->values && i < COUNTERS; i++) {
        uint64_t value = atomic_load_explicit(&t->values[i], memory_order_relaxed);
        if (value < t->last[i]) t->wrong = "a counter has fallen";
        t->last[i] = value;
    }
}

// Index of a name; the last one is that of unknown numbers.
static uint32_t known(Thread *t, uint32_t number) {
    if (number >= offset && number - offset < (uint32_t)atomic_load(&named)) return number - offset;
    t->wrong = "an unknown name";
    return NAMES - 1;
}

static void enter(uint32_t cause) {
    Thread *t = me();
    if (t->depth == DEPTH) { t->wrong = "stays nested too deep"; return; }
    uint32_t name = known(t, cause);
    t->stack[t->depth++] = name;
    if (t->depth > t->deepest) t->deepest = t->depth;
    t->enters[name]++;
    t->since = now_ns();
    look(t);
}

static void leave(void) {
    Thread *t = me();
    if (t->depth == 0) { t->wrong = "a stay left that was not entered"; return; }
    t->spent_ns[t->stack[--t->depth]] += now_ns() - t->since;
    look(t);
}

static uint32_t name(const char *text, size_t length) {
    if (length >= sizeof names[0]) { me()->wrong = "a name too long"; return 0; }
    pthread_mutex_lock(&naming);
    int count = atomic_load(&named), found = 0;
    while (found < count && (strlen(names[found]) != length || memcmp(names[found], text, length))) found++;
    if (found == count && count < NAMES - 1) {
        memcpy(names[found], text, length);
        names[found][length] = 0;
        atomic_store(&named, count + 1);
    }
    pthread_mutex_unlock(&naming);
    return offset + (uint32_t)found;
}

static void mark(uint32_t kind, uint32_t number) {
    Thread *t = me();
    if (kind >= KINDS) { t->wrong = "an unknown kind of mark"; return; }
    if (t->depth) t->wrong = "a mark inside of a stay";
    uint32_t index = known(t, number);
    t->marks[kind][index]++;
    for (const char *at = names[index]; *at; at++) t->sequence = t->sequence * 31 + (unsigned char)*at;
    t->sequence = t->sequence * 31 + kind + 1;
}

static void counters(const _Atomic uint64_t *values) {
    Thread *t = me();
    t->values = values;
    for (int i = 0; i < COUNTERS; i++) t->base[i] = t->last[i] = atomic_load(&values[i]);
}

static void identity(uint32_t node, uint32_t number) {
    Thread *t = me();
    if (t->number != UINT32_MAX) t->wrong = "introduced twice";
    t->node = node;
    t->number = number;
}

static void ignore(void) { me()->ignored = 1; }

static void forked(void) {
    memset(threads, 0, (size_t)atomic_load(&used) * sizeof *threads);
    atomic_store(&used, 0);
    atomic_store(&named, 0);
    mine = NULL;
    offset += 10000;
}

static const Interface interface = {enter, leave, name, mark, counters, identity, ignore, forked};

const Interface *fathomp_paging_interface(uint32_t version) {
    folder = getenv("TEST_INTERPOSER");
    return version == 2 && folder ? &interface : NULL;
}

static void out(int file, const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (syscall(SYS_write, file, line, (size_t)length) != length) abort();
}

static void tell(void) {
    if (!folder || atomic_exchange(&done, 1)) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    int file = (int)syscall(SYS_openat, -100, path, 0101, 0600);
    if (file < 0) return;
    static const char *kinds[KINDS] = {"barrier", "begin", "end"};
    int count = atomic_load(&used);
    for (int i = 0; i < count && i < THREADS; i++) {
        Thread *t = &threads[i];
        out(file, "thread\t%d\t%d\t%d\t%d\t%d\t%llu\t%s\n", t->tid, (int)t->node, (int)t->number, t->ignored,
            t->deepest, (unsigned long long)t->sequence, t->wrong ? t->wrong : "");
        for (int n = 0; n < NAMES; n++) {
            const char *called = n == NAMES - 1 ? "?" : names[n];
            if (t->enters[n])
                out(file, "stay\t%s\t%llu\t%llu\n", called, (unsigned long long)t->enters[n],
                    (unsigned long long)t->spent_ns[n]);
            for (int k = 0; k < KINDS; k++)
                if (t->marks[k][n])
                    out(file, "mark\t%s\t%s\t%llu\n", kinds[k], called, (unsigned long long)t->marks[k][n]);
        }
        for (int c = 0; t->values && c < COUNTERS; c++)
            out(file, "counter\t%d\t%llu\n", c,
                (unsigned long long)(atomic_load(&t->values[c]) - t->base[c]));
    }
    syscall(SYS_close, file);
}

__attribute__((destructor)) static void at_exit(void) { tell(); }

void _exit(int code) {
    tell();
    syscall(SYS_exit_group, code);
    __builtin_unreachable();
}

// Calls pass through here on their way to the runtime's cluster edition.
ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return next(file, bytes, count);
}

typedef struct {
    void *(*run)(void *);
    void *argument;
} Start;

static void *begin(void *pointer) {
    Start start = *(Start *)pointer;
    free(pointer);
    return start.run(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next)
        next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
                                                                                               "pthread_create");
    Start *start = malloc(sizeof *start);
    if (!start) return 11;
    // The interposer's memory is no memory that nodes share (cluster/node/src/layout.rs).
    uintptr_t address = (uintptr_t)start;
    if (folder && address >= 0x200000000000 && address < 0x300000000000) me()->wrong = "shared memory for the interposer";
    *start = (Start){run, argument};
    int code = next(thread, attributes, begin, start);
    if (code) free(start);
    return code;
}
