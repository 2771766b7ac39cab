/* OpenMP: bursts of page faults at equal distances by the clock, with nothing but computing
   between them; then, if asked, so many reads by the program itself. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BURSTS = 12, PAGES = 500, PAGE = 4096 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void touch(void)
{
    char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (int page = 0; page < PAGES; page++)
        pages[page * PAGE] = 1;
    munmap(pages, PAGES * PAGE);
}

int main(int count, char **arguments)
{
    double start = now();
#pragma omp parallel
    for (int burst = 1; burst <= BURSTS; burst++) {
        touch();
        while (now() < start + 0.05 * burst)
            ;
#pragma omp barrier
    }
    int reads = count > 1 ? atoi(arguments[1]) : 0;
    int file = reads ? open("/proc/thread-self/schedstat", O_RDONLY) : -1;
    char text[8];
    for (int read = 0; read < reads; read++)
        if (pread(file, text, sizeof text, 0) != sizeof text)
            return 1;
    return 0;
}
