// fathomp: nodes refused calls fork
// fathomp: threads 2
// OMP_STACKSIZE in all its units, and GOMP_STACKSIZE in kilobytes.
#define _GNU_SOURCE
#include "env/again.h"
#include <omp.h>
#include <pthread.h>

int main(int argc, char **argv)
{
    if (argc > 1) {
        size_t want = strtoul(argv[1], NULL, 10) * 1024, size = 0;
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 1) {
            pthread_attr_t attr;
            void *base;
            pthread_getattr_np(pthread_self(), &attr);
            pthread_attr_getstack(&attr, &base, &size);
            pthread_attr_destroy(&attr);
        }
        CHECK(size >= want - 65536 && size <= want + 1024 * 1024);
        return check_result();
    }
    static const char *const settings[][2] = {
        {"3072", "OMP_STACKSIZE=3M"},     {"3072", "OMP_STACKSIZE=3072"},
        {"3072", "OMP_STACKSIZE=3072K"},  {"3072", "OMP_STACKSIZE=3145728B"},
        {"3072", "OMP_STACKSIZE= 3 m "},  {"3072", "GOMP_STACKSIZE=3072"},
        {"20480", "OMP_STACKSIZE=20M"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const char *variables[] = {settings[i][1], NULL};
        int code = again(argv[0], settings[i][0], variables);
        if (code != 0)
            fprintf(stderr, "%s: %s\n", settings[i][1], again_stderr);
        CHECK_EQ(code, 0);
        CHECK_EQ(again_lines(), 0);
    }
    printf("ok\n");
    return check_result();
}
