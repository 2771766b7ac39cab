/* What calls cost, each the least of many batches: name and nanoseconds, a line each. */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 100, BATCH = 100 };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static volatile double result;

/* A few microseconds. */
static void compute(void)
{
    double x = 1;
    for (int step = 0; step < 4000; step++)
        x = x * 1.0000001 + 1e-9;
    result = x;
}

#define COST(name, work)                                                                      \
    do {                                                                                      \
        double best = 1e18;                                                                   \
        for (int batch = 0; batch < BATCHES; batch++) {                                       \
            double begin = now_ns();                                                          \
            for (int at = 0; at < BATCH; at++) {                                              \
                work;                                                                         \
            }                                                                                 \
            double each = (now_ns() - begin) / BATCH;                                         \
            best = each < best ? each : best;                                                 \
        }                                                                                     \
        printf("%-32s %10.1f\n", name, best);                                                 \
    } while (0)

int main(void)
{
    static char bytes[1 << 16];
    int zero = open("/dev/zero", O_RDONLY);
    FILE *null = fopen("/dev/null", "w");
    FILE *endless = fopen("/dev/zero", "r");
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    CHECK(zero >= 0 && null && endless);
    CHECK(setvbuf(endless, NULL, _IOFBF, 1 << 20) == 0 && getc(endless) == 0);

    COST("read of 1 byte", CHECK(read(zero, bytes, 1) == 1));
    COST("read of 64 KiB", CHECK(read(zero, bytes, sizeof bytes) == sizeof bytes));
    COST("compute", compute());
    COST("compute, read of 1 byte", compute(); CHECK(read(zero, bytes, 1) == 1));
    COST("compute, read of 64 KiB", compute();
         CHECK(read(zero, bytes, sizeof bytes) == sizeof bytes));
    COST("getc", CHECK(getc(endless) == 0));
    COST("putc", CHECK(putc('x', null) == 'x'));
    COST("fputs", CHECK(fputs("a line of text\n", null) >= 0));
    COST("fprintf", CHECK(fprintf(null, "%d\n", at) > 0));
    COST("lock and unlock of a mutex",
         CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0));
    return 0;
}
