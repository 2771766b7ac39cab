// A signal's handler writes words of its own in pages that another member writes from
// barrier to barrier, and that are at home where that is, also while its thread waits at
// a barrier: nothing it writes gets lost.
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

enum { ROUNDS = 60, PAGES = 16, WORDS = 4096 / sizeof(long) };

static long (*pages)[WORDS];
static volatile long handled;

// One thread has the handler: two would count at the same time.
static void leave_signals_to_the_first(void)
{
#pragma omp parallel
    if (omp_get_thread_num() != 0) {
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        CHECK_EQ(pthread_sigmask(SIG_BLOCK, &alarm, NULL), 0);
    }
}

// The first word of each page is the handler's alone.
static void handler(int signal)
{
    (void)signal;
    handled++;
    for (int page = 0; page < PAGES; page++)
        pages[page][0]++;
}

static void write_pages(long value)
{
    for (int page = 0; page < PAGES; page++)
        for (int word = 1; word < WORDS; word++)
            pages[page][word] = value;
}

static int is_last(void)
{
    return omp_get_thread_num() == omp_get_num_threads() - 1;
}

// The last member takes about five milliseconds, others two.
static void rounds(long from)
{
#pragma omp parallel
    for (long round = from; round < from + ROUNDS; round++) {
        double end = omp_get_wtime() + (is_last() ? 5e-3 : 2e-3);
        do
            if (is_last())
                write_pages(round);
        while (omp_get_wtime() < end);
#pragma omp barrier
    }
}

int main(void)
{
    pages = aligned_alloc(4096, PAGES * sizeof *pages);
    // Twice, so that they come to be at home with their writer.
    for (int round = 0; round < 2; round++) {
#pragma omp parallel
        if (is_last()) {
            for (int page = 0; page < PAGES; page++)
                pages[page][0] = 0;
            write_pages(0);
        }
    }
    leave_signals_to_the_first();
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    struct itimerval each = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    CHECK_EQ(setitimer(ITIMER_REAL, &each, NULL), 0);
    rounds(1);
    CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
    CHECK(handled > 0);
    for (int page = 0; page < PAGES; page++) {
        CHECK_EQ(pages[page][0], handled);
        for (int word = 1; word < WORDS; word++)
            CHECK_EQ(pages[page][word], ROUNDS);
    }
    printf("ok\n");
    return check_result();
}
