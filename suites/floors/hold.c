/* A program that holds an array and says what memory that takes.
 *
 *     hold MIB     with 0: does nothing at all
 *     hold team    does nothing, in one region
 *
 * Every thread writes its part, all read everything, and write again. Prints the
 * memory of each process, in KiB, by thread.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRONG_USAGE 2
#define THREADS_MAX 64
#define FILES_MAX 256

/* Of /proc/self/smaps_rollup. */
static long field_kib(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtol(at + strlen(name), NULL, 10) : 0;
}

/* Memory in files without a name that this process has open, each once, however many
 * descriptors it has. */
static long memfd_kib(void)
{
    ino_t seen[FILES_MAX];
    int files = 0;
    long kib = 0;
    for (int fd = 0; fd < FILES_MAX; fd++) {
        char name[64], target[64];
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof target - 1);
        struct stat facts;
        if (length < 0 || fstat(fd, &facts) != 0)
            continue;
        target[length] = '\0';
        int known = 0;
        while (known < files && seen[known] != facts.st_ino)
            known++;
        if (known == files && strncmp(target, "/memfd:", 7) == 0) {
            seen[files++] = facts.st_ino;
            kib += facts.st_blocks / 2;
        }
    }
    return kib;
}

/* What is mapped, shared memory by its share, and what is kept without being
 * mapped at the moment. */
static long memory_kib(void)
{
    char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    long unmapped = memfd_kib() - field_kib(text, "Pss_Shmem:");
    return field_kib(text, "\nPss:") + (unmapped > 0 ? unmapped : 0);
}

/* One region, in which nothing is done. */
static int form_a_team(void)
{
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    return threads < 1;
}

int main(int argc, char **argv)
{
    char *end = NULL;
    if (argc == 2 && strcmp(argv[1], "team") == 0)
        return form_a_team();
    long mib = argc == 2 ? strtol(argv[1], &end, 10) : -1;
    if (!end || *end != '\0' || mib < 0 || mib > 1 << 20) {
        fputs("usage: hold MIB|team\n", stderr);
        return WRONG_USAGE;
    }
    if (mib == 0)
        return 0;
    size_t words = (size_t)mib << 17;
    uint64_t *array = malloc(words * sizeof *array);
    static long kib[THREADS_MAX];
    static long wrong;
    int threads = 0;
    if (!array) {
        fputs("there is not enough memory\n", stderr);
        return 1;
    }
#pragma omp parallel num_threads(omp_get_max_threads() < THREADS_MAX ? omp_get_max_threads()        \
                                                                     : THREADS_MAX)
    {
        int me = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        for (uint64_t round = 1; round <= 2; round++) {
#pragma omp for schedule(static)
            for (size_t i = 0; i < words; i++)
                array[i] = i * round;
            uint64_t sum = 0, expected = (uint64_t)(words / 2) * (words - 1) * round;
            for (size_t i = 0; i < words; i++)
                sum += array[i];
            if (sum != expected) {
#pragma omp atomic
                wrong++;
            }
#pragma omp barrier
        }
        kib[me] = memory_kib();
    }
    printf("{\"wrong\":%ld,\"memory_kib\":[", wrong);
    for (int i = 0; i < threads; i++)
        printf("%s%ld", i ? "," : "", kib[i]);
    printf("]}\n");
    return 0;
}
