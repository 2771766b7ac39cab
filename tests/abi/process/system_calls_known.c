// fathomp: flags -D_GNU_SOURCE
// has a copy: names, buffers and structures of calls that programs use.
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 4096, HALF = 2048, MEMBERS = 16, LARGE = 3 << 20 };

typedef struct {
    void (*prepare)(char *page, int member);
    // True if all went well.
    int (*call)(char *page, int member);
    // By the other member again, afterwards.
    int (*look)(const char *page);
} Step;

static char folder[256], current[256];
static char large[MEMBERS][LARGE];

static void fill(char *page, int member)
{
    memset(page, 'a' + member % 20, BYTES);
}

static void clear(char *page, int member)
{
    (void)member;
    memset(page, 0, BYTES);
}

static void name_root(char *page, int member)
{
    clear(page, member);
    strcpy(page, "/");
}

static void name_null(char *page, int member)
{
    clear(page, member);
    strcpy(page, "/dev/null");
}

static void name_two(char *page, int member)
{
    clear(page, member);
    snprintf(page, 300, "%s/a%d", folder, member);
    snprintf(page + HALF, 300, "%s/b%d", folder, member);
}

static void no_file(char *page, int member)
{
    clear(page, member);
    ((struct pollfd *)page)->fd = -1;
}

static void one_microsecond(char *page, int member)
{
    clear(page, member);
    ((struct timespec *)page)->tv_nsec = 1000;
}

static int anything(const char *page)
{
    (void)page;
    return 1;
}

static int is_current(const char *page)
{
    return strcmp(page, current) == 0;
}

static int is_root(const char *page)
{
    return S_ISDIR(((const struct stat *)(page + HALF))->st_mode);
}

static int is_zero(const char *page)
{
    for (int i = 0; i < BYTES; i++)
        if (page[i])
            return 0;
    return 1;
}

static int is_hello(const char *page)
{
    return strcmp(page + HALF, "hello") == 0;
}

static int is_five(const char *page)
{
    return *(const int *)page == 5;
}

static int call_getcwd(char *page, int member)
{
    (void)member;
    return getcwd(page, 256) == page;
}

static int call_readlink(char *page, int member)
{
    (void)member;
    return readlink("/proc/self/exe", page, BYTES) > 0;
}

static int call_stat(char *page, int member)
{
    (void)member;
    return stat(page, (struct stat *)(page + HALF)) == 0;
}

static int call_lstat(char *page, int member)
{
    (void)member;
    return lstat(page, (struct stat *)(page + HALF)) == 0;
}

static int call_fstat(char *page, int member)
{
    (void)member;
    int file = open("/", O_RDONLY);
    int done = fstat(file, (struct stat *)(page + HALF)) == 0;
    return close(file) == 0 && done;
}

static int call_opendir(char *page, int member)
{
    (void)member;
    DIR *found = opendir(page);
    return found && closedir(found) == 0 && access(page, R_OK) == 0;
}

static int call_write(char *page, int member)
{
    (void)member;
    int file = open(page, O_RDWR);
    int done = file >= 0 && write(file, page, BYTES) == BYTES;
    return close(file) == 0 && done;
}

static int call_read(char *page, int member)
{
    (void)member;
    int file = openat(AT_FDCWD, "/dev/zero", O_RDONLY);
    int done = read(file, page, BYTES) == BYTES;
    return close(file) == 0 && done;
}

static int call_fread(char *page, int member)
{
    FILE *file = fopen("/dev/zero", "r");
    int done = fread(page, 8, BYTES / 8, file) == BYTES / 8;
    done = done && fread(large[member], 1, LARGE, file) == LARGE;
    return fclose(file) == 0 && done && large[member][LARGE - 1] == 0;
}

static int call_fopen(char *page, int member)
{
    (void)member;
    FILE *file = fopen(page, "w");
    return file && fwrite(page, 1, BYTES, file) == BYTES && fclose(file) == 0;
}

static int call_random(char *page, int member)
{
    (void)member;
    return getrandom(page, 64, 0) == 64 && getentropy(page + HALF, 64) == 0;
}

static int call_names(char *page, int member)
{
    (void)member;
    return mkdir(page, 0700) == 0 && rename(page, page + HALF) == 0 &&
           rmdir(page + HALF) == 0 && unlink(page) != 0;
}

static int call_vectors(char *page, int member)
{
    (void)member;
    char name[300];
    strcpy(name, page);
    int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    char hello[] = "hello";
    struct iovec from = {hello, 6}, to = {page + HALF, 6};
    int done = pwritev(file, &from, 1, 0) == 6 && preadv(file, &to, 1, 0) == 6;
    return close(file) == 0 && remove(name) == 0 && done;
}

static int call_messages(char *page, int member)
{
    (void)member;
    int ends[2];
    char hello[] = "hello";
    struct iovec from = {hello, 6}, to = {page + HALF, 6};
    struct msghdr message = {.msg_iov = &from, .msg_iovlen = 1};
    int done = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;
    done = done && sendmsg(ends[0], &message, 0) == 6;
    message.msg_iov = &to;
    done = done && recvmsg(ends[1], &message, 0) == 6;
    done = done && send(ends[0], page + HALF, 6, 0) == 6 && recv(ends[1], page, 6, 0) == 6;
    done = done && sendto(ends[0], page, 6, 0, NULL, 0) == 6;
    done = done && recvfrom(ends[1], page, 6, 0, NULL, NULL) == 6;
    return close(ends[0]) == 0 && close(ends[1]) == 0 && done;
}

static int call_poll(char *page, int member)
{
    (void)member;
    int wait = epoll_create1(0);
    int done = poll((struct pollfd *)page, 1, 0) == 0 &&
               epoll_wait(wait, (struct epoll_event *)(page + HALF), 4, 0) == 0;
    return close(wait) == 0 && done;
}

static int call_select(char *page, int member)
{
    (void)member;
    fd_set *sets = (fd_set *)page;
    return select(0, &sets[0], &sets[1], NULL, (struct timeval *)(page + HALF)) == 0;
}

static int call_sleep(char *page, int member)
{
    (void)member;
    return nanosleep((struct timespec *)page, (struct timespec *)(page + HALF)) == 0;
}

static int call_resources(char *page, int member)
{
    (void)member;
    return getrusage(RUSAGE_SELF, (struct rusage *)page) == 0 &&
           sched_getaffinity(0, sizeof(cpu_set_t), (cpu_set_t *)(page + HALF)) == 0;
}

static int call_facts(char *page, int member)
{
    (void)member;
    return getrlimit(RLIMIT_NOFILE, (struct rlimit *)page) == 0 &&
           times((struct tms *)(page + 512)) != (clock_t)-1 &&
           uname((struct utsname *)(page + 1024)) == 0 &&
           sysinfo((struct sysinfo *)(page + 3 * 1024)) == 0 &&
           getitimer(ITIMER_REAL, (struct itimerval *)(page + HALF + 512)) == 0;
}

static int call_ioctl(char *page, int member)
{
    (void)member;
    int ends[2];
    int done = pipe(ends) == 0 && write(ends[1], "12345", 5) == 5;
    done = done && ioctl(ends[0], FIONREAD, (int *)page) == 0;
    return close(ends[0]) == 0 && close(ends[1]) == 0 && done;
}

static const Step steps[] = {
    {fill, call_getcwd, is_current},    {fill, call_readlink, anything},
    {name_root, call_stat, is_root},    {name_root, call_lstat, is_root},
    {fill, call_fstat, is_root},        {name_root, call_opendir, anything},
    {name_null, call_write, anything},  {fill, call_read, is_zero},
    {fill, call_fread, is_zero},        {name_null, call_fopen, anything},
    {fill, call_random, anything},      {name_two, call_names, anything},
    {name_two, call_vectors, is_hello}, {fill, call_messages, is_hello},
    {no_file, call_poll, anything},     {clear, call_select, anything},
    {clear, call_resources, anything},  {clear, call_facts, anything},
    {fill, call_ioctl, is_five},
    {one_microsecond, call_sleep, anything},
};
enum { STEPS = sizeof steps / sizeof *steps };

static char pages[STEPS][MEMBERS][BYTES] __attribute__((aligned(BYTES)));

int main(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fathomp-calls-XXXXXX", temporary ? temporary : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    CHECK(getcwd(current, sizeof current) != NULL);
#pragma omp parallel num_threads(omp_get_max_threads() < MEMBERS ? omp_get_max_threads() : MEMBERS)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        int other = (me + all / 2) % all;
        for (int step = 0; step < STEPS; step++)
            for (int round = 0; round < 3; round++) {
                steps[step].prepare(pages[step][other], other);
                memset(large[other], 1, steps[step].call == call_fread ? LARGE : 1);
#pragma omp barrier
                if (!steps[step].call(pages[step][me], me)) {
                    fprintf(stderr, "step %d, member %d: %m\n", step, me);
                    CHECK(0);
                }
#pragma omp barrier
                if (!steps[step].look(pages[step][other])) {
                    fprintf(stderr, "step %d, seen by member %d\n", step, me);
                    CHECK(0);
                }
#pragma omp barrier
            }
    }
    CHECK_EQ(rmdir(folder), 0);
    printf("ok\n");
    return check_result();
}
