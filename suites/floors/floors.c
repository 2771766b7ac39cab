/* What the kernel and the machine take at least for what a node does.
 *
 *     floors userfault|mprotect PAGES ROUNDS LIMIT_MS
 *
 * No OpenMP, no protocol, no bookkeeping: a signal handler that makes the one
 * request, and a second process that answers as fast as it can. See README.md.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "json.h"
#include "pages.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than many headers. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define FEATURE_WP_UNPOPULATED (1 << 13)
#define FEATURE_WP_ASYNC (1 << 15)
#define CONTINUE_WP (1 << 1)

#define SOURCE_WORD 0x0707070707070707 /* what fetched pages contain */
#define ROUNDS_MIN 3
#define EXCHANGES 200 /* questions, barriers, grants of a lock in a sample */
#define WRONG_USAGE 2
#define NOT_HERE 3 /* exit code: this kernel lacks it */

static size_t pages, words;
static long wrong;

static void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- Two processes that share a mailbox ---- */

enum question { SEND_PAGE, SEND_WORD, MEET, LOCK, QUESTIONS };

/* Every word that one process writes and the other waits for has a cache line. */
struct mailbox {
    _Alignas(64) atomic_ulong asked;
    _Alignas(64) atomic_ulong answered;
    _Alignas(64) atomic_ulong met[2];
    _Alignas(64) atomic_ulong ticket;
    _Alignas(64) atomic_ulong served;
    _Alignas(64) enum question question;
    size_t page;
    _Alignas(64) uint64_t content[PAGE_WORDS];
};

static struct mailbox *box;
static uint64_t *source;
static int crowded; /* one processor for both processes */

static void pause_a_little(void)
{
    if (crowded)
        sched_yield();
#if defined(__x86_64__)
    else
        __builtin_ia32_pause();
#endif
}

static void await(atomic_ulong *word, unsigned long value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        pause_a_little();
}

/* Both come EXCHANGES times, each with a count of its own. */
static void meet(int me, atomic_ulong *other, unsigned long begin)
{
    for (unsigned long i = 1; i <= EXCHANGES; i++) {
        atomic_store_explicit(&box->met[me], begin + i, memory_order_release);
        while (atomic_load_explicit(other, memory_order_acquire) < begin + i)
            pause_a_little();
    }
}

static void lock_and_unlock(void)
{
    for (int i = 0; i < EXCHANGES; i++) {
        unsigned long mine = atomic_fetch_add(&box->ticket, 1);
        await(&box->served, mine);
        atomic_store_explicit(&box->served, mine + 1, memory_order_release);
    }
}

static void take_part(int me, enum question question, unsigned long begin)
{
    if (question == MEET)
        meet(me, &box->met[!me], begin);
    else if (question == LOCK)
        lock_and_unlock();
}

/* The other process: answers until it is killed. */
static void answer(void)
{
    for (unsigned long number = 1;; number++) {
        await(&box->asked, number);
        unsigned long begin = box->met[1];
        if (box->question == SEND_PAGE)
            memcpy(box->content, source + box->page * PAGE_WORDS, PAGE_BYTES);
        take_part(1, box->question, begin);
        atomic_store_explicit(&box->answered, number, memory_order_release);
    }
}

static void ask(enum question question, size_t page)
{
    unsigned long number = box->asked + 1, begin = box->met[0];
    box->question = question;
    box->page = page;
    atomic_store_explicit(&box->asked, number, memory_order_release);
    take_part(0, question, begin);
    await(&box->answered, number);
}

static void *map_shared(size_t bytes, int memory)
{
    int flags = memory < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, memory, 0);
    if (at == MAP_FAILED)
        give_up("memory");
    return at;
}

static void start_the_other(void)
{
    cpu_set_t set;
    crowded = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < 2;
    box = map_shared(sizeof *box, -1);
    pid_t me = getpid(), child = fork();
    if (child < 0)
        give_up("fork");
    if (child > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == me)
        answer();
    _exit(1);
}

/* ---- Pages that are watched ---- */

/* Mapped twice: as the program sees it, and as the handler fills it. */
struct region {
    volatile uint64_t *view;
    uint64_t *alias;
    int faults; /* userfaultfd; -1 with mprotect */
};

static struct region region, recorder;

/* What the handler does. */
static enum { ALLOW, TWIN, FETCH } duty;
static uint64_t *twins;
static volatile size_t traps;

static struct region map_twice(void)
{
    int memory = memfd_create("floors", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, (off_t)(words * sizeof(uint64_t))) != 0)
        give_up("memfd");
    size_t bytes = words * sizeof(uint64_t);
    struct region new = {map_shared(bytes, memory), map_shared(bytes, memory), -1};
    memset(new.alias, 1, bytes);
    return new;
}

static struct uffdio_range range_of(const struct region *of, size_t first, size_t count)
{
    return (struct uffdio_range){(uintptr_t)of->view + first * PAGE_BYTES, count * PAGE_BYTES};
}

/* -1 if the kernel cannot do it. */
static int watch(struct region *new, unsigned long features, unsigned long mode)
{
    new->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    struct uffdio_register all = {.range = range_of(new, 0, pages), .mode = mode};
    if (new->faults < 0 || ioctl(new->faults, UFFDIO_API, &api) != 0)
        return -1;
    return ioctl(new->faults, UFFDIO_REGISTER, &all);
}

static void set_protection(const struct region *of, size_t first, size_t count, int writable)
{
    int done;
    if (of->faults < 0) {
        int what = writable ? PROT_READ | PROT_WRITE : PROT_READ;
        done = mprotect((char *)of->view + first * PAGE_BYTES, count * PAGE_BYTES, what);
    } else {
        struct uffdio_writeprotect change = {.range = range_of(of, first, count)};
        change.mode = writable ? 0 : UFFDIO_WRITEPROTECT_MODE_WP;
        done = ioctl(of->faults, UFFDIO_WRITEPROTECT, &change);
    }
    if (done != 0)
        give_up("protecting pages");
}

/* Lets the program read pages that are there. */
static void install(const struct region *of, size_t first, size_t count)
{
    if (of->faults < 0) {
        set_protection(of, first, count, 0);
        return;
    }
    struct uffdio_continue now = {.range = range_of(of, first, count), .mode = CONTINUE_WP};
    if (ioctl(of->faults, UFFDIO_CONTINUE, &now) != 0)
        give_up("installing pages");
}

static void take_away(const struct region *of)
{
    void *at = (void *)of->view;
    size_t bytes = words * sizeof(uint64_t);
    if (of->faults < 0 ? mprotect(at, bytes, PROT_NONE) : madvise(at, bytes, MADV_DONTNEED))
        give_up("taking pages away");
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    size_t page = ((uintptr_t)info->si_addr - (uintptr_t)region.view) / PAGE_BYTES;
    if (page >= pages) {
        signal(signal_number, SIG_DFL);
        return;
    }
    traps++;
    uint64_t *content = region.alias + page * PAGE_WORDS;
    switch (duty) {
    case TWIN:
        memcpy(twins + page * PAGE_WORDS, content, PAGE_BYTES);
        /* fall through */
    case ALLOW:
        set_protection(&region, page, 1, 1);
        break;
    case FETCH:
        ask(SEND_PAGE, page);
        memcpy(content, box->content, PAGE_BYTES);
        install(&region, page, 1);
        break;
    }
}

/* ---- Samples ---- */

enum { WRITE, TWIN_WRITE, FETCHED, RECORDED, ROUND_TRIP, BARRIER, HANDOVER, KINDS };

static const char *const NAMES[KINDS] = {
    "write_ns",      "twin_write_ns", "fetch_ns",    "recorded_ns",
    "round_trip_ns", "barrier_ns",    "handover_ns",
};

static double *samples[KINDS];

/* Each page must have trapped once, or something else was measured. */
static void check_traps(size_t expected)
{
    wrong += traps != expected;
    traps = 0;
}

static double first_writes(const struct region *of, size_t expected, double bare_ns)
{
    take_away(of);
    install(of, 0, pages);
    double took_ns = time_write(of->view, words, 2);
    check_traps(expected);
    return (took_ns - bare_ns) / (double)pages;
}

static double first_reads(double bare_ns)
{
    uint64_t sum;
    memset(region.alias, 1, words * sizeof(uint64_t));
    take_away(&region);
    double took_ns = time_read(region.view, words, &sum);
    check_traps(pages);
    wrong += sum != SOURCE_WORD * words;
    return (took_ns - bare_ns) / (double)pages;
}

/* Time of each of EXCHANGES. */
static double exchanges(enum question question, int times)
{
    double start = wall_ns();
    for (int i = 0; i < times; i++)
        ask(question, 0);
    return (wall_ns() - start) / EXCHANGES;
}

static void measure(long round, volatile uint64_t *private, int records)
{
    uint64_t sum;
    double bare_ns = time_write(private, words, (uint64_t)round);
    duty = ALLOW;
    samples[WRITE][round] = first_writes(&region, pages, bare_ns);
    duty = TWIN;
    samples[TWIN_WRITE][round] = first_writes(&region, pages, bare_ns);
    if (records) {
        set_protection(&recorder, 0, pages, 0);
        samples[RECORDED][round] =
            (time_write(recorder.view, words, (uint64_t)round) - bare_ns) / (double)pages;
    }
    bare_ns = time_read(private, words, &sum);
    duty = FETCH;
    samples[FETCHED][round] = first_reads(bare_ns);
    samples[ROUND_TRIP][round] = exchanges(SEND_WORD, EXCHANGES);
    samples[BARRIER][round] = exchanges(MEET, 1);
    /* Both processes get the lock so often. */
    samples[HANDOVER][round] = exchanges(LOCK, 1) / 2;
}

static int set_up(int by_userfault)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    region = map_twice();
    if (!by_userfault) {
        sigaction(SIGSEGV, &action, NULL);
        return 0;
    }
    sigaction(SIGBUS, &action, NULL);
    unsigned long features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM |
                             UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_WP_HUGETLBFS_SHMEM |
                             FEATURE_WP_UNPOPULATED;
    if (watch(&region, features,
              UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP)) {
        fputs("this kernel does not watch pages by userfaultfd as nodes need it\n", stderr);
        exit(NOT_HERE);
    }
    recorder = map_twice();
    read_all(recorder.view, words);
    return watch(&recorder, features | FEATURE_WP_ASYNC, UFFDIO_REGISTER_MODE_WP) == 0;
}

static long number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value > 0 && value <= 1000000 ? value : 0;
}

int main(int argc, char **argv)
{
    long size = argc == 5 ? number(argv[2]) : 0;
    long rounds = argc == 5 ? number(argv[3]) : 0;
    double limit_ns = argc == 5 ? (double)number(argv[4]) * 1e6 : 0;
    int by_userfault = argc == 5 && strcmp(argv[1], "userfault") == 0;
    if (!size || !rounds || limit_ns <= 0 || (!by_userfault && strcmp(argv[1], "mprotect") != 0)) {
        fputs("usage: floors userfault|mprotect PAGES ROUNDS LIMIT_MS\n", stderr);
        return WRONG_USAGE;
    }
    pages = (size_t)size;
    words = pages * PAGE_WORDS;
    for (int kind = 0; kind < KINDS; kind++)
        if (!(samples[kind] = calloc((size_t)rounds + 1, sizeof(double))))
            give_up("memory");
    source = map_shared(words * sizeof(uint64_t), -1);
    twins = map_shared(words * sizeof(uint64_t), -1);
    memset(source, 7, words * sizeof(uint64_t));
    memset(twins, 7, words * sizeof(uint64_t));
    volatile uint64_t *private = map_shared(words * sizeof(uint64_t), -1);
    start_the_other();
    int records = set_up(by_userfault);
    double began_ns = wall_ns();
    /* The first round is for warming up. */
    long round = 0;
    while (round <= rounds && (round <= ROUNDS_MIN || wall_ns() - began_ns < limit_ns))
        measure(round++, private, records);
    printf("{\"wrong\":%ld", wrong);
    for (int kind = 0; kind < KINDS; kind++)
        if (kind != RECORDED || records)
            json_array(NAMES[kind], samples[kind] + 1, round - 1);
    printf("}\n");
    return 0;
}
