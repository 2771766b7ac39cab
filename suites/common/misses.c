/* The kernel's counter of last-level cache misses. */
#define _GNU_SOURCE
#include "misses.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int counter = -1;
static const char *absent = "cache misses are not counted by this program";

void open_misses(void)
{
    struct perf_event_attr wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = PERF_COUNT_HW_CACHE_MISSES;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    counter = (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0);
    if (counter >= 0)
        absent = NULL;
    else if (errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV)
        absent = "this processor (or virtual machine) offers no cache miss counter";
    else if (errno == EACCES || errno == EPERM)
        absent = "the kernel forbids counters: lower /proc/sys/kernel/perf_event_paranoid";
    else
        absent = "the kernel gave no cache miss counter";
}

const char *misses_absent(void) { return absent; }

double misses_now(void)
{
    uint64_t count;
    if (counter < 0 || read(counter, &count, sizeof count) != (ssize_t)sizeof count)
        return 0.0;
    return (double)count;
}
