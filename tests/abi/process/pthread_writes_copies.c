// A thread that the program made itself writes words of its own in pages that another
// member writes from barrier to barrier, and that are at home where that is: nothing it
// writes gets lost, whatever its node is at.
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ROUNDS = 200, PAGES = 64, WORDS = 4096 / sizeof(long) };

static long (*pages)[WORDS];
static atomic_int done;

// The first word of each page is this thread's alone.
static void *work(void *counted)
{
    long rounds = 0;
    while (!atomic_load(&done)) {
        rounds++;
        for (int page = 0; page < PAGES; page++)
            pages[page][0]++;
    }
    *(long *)counted = rounds;
    return NULL;
}

static void write_pages(long value)
{
    for (int page = 0; page < PAGES; page++)
        for (int word = 1; word < WORDS; word++)
            pages[page][word] = value;
}

int main(void)
{
    long rounds = 0;
    pages = aligned_alloc(4096, PAGES * sizeof *pages);
    // Twice, so that they come to be at home with their writer.
    for (int round = 0; round < 2; round++) {
#pragma omp parallel
        if (omp_get_thread_num() == omp_get_num_threads() - 1) {
            for (int page = 0; page < PAGES; page++)
                pages[page][0] = 0;
            write_pages(0);
        }
    }
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, work, &rounds), 0);
#pragma omp parallel
    for (int round = 1; round <= ROUNDS; round++) {
        if (omp_get_thread_num() == omp_get_num_threads() - 1)
            write_pages(round);
#pragma omp barrier
    }
    atomic_store(&done, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    for (int page = 0; page < PAGES; page++) {
        CHECK_EQ(pages[page][0], rounds);
        for (int word = 1; word < WORDS; word++)
            CHECK_EQ(pages[page][word], ROUNDS);
    }
    printf("ok\n");
    return check_result();
}
