/* Memory.
   touch: inside a region the master touches new memory first, for all;
   triad: two arrays are added to a third, 256 MB in all. */
#define _DEFAULT_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "touch") == 0) {
        const size_t bytes = (size_t)200 << 20;
        char *new = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (new == MAP_FAILED)
            return 1;
        madvise(new, bytes, MADV_NOHUGEPAGE);
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            if (omp_get_thread_num() == 0)
                for (size_t at = 0; at < bytes; at += 4096)
                    new[at] = 1;
#pragma omp barrier
#pragma omp for
            for (size_t page = 0; page < bytes / 4096; page++)
                sum += new[page * 4096];
        }
        printf("%ld\n", sum);
        return 0;
    }
    const long n = (256L << 20) / 3 / sizeof(double);
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    if (!a || !b || !c)
        return 1;
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        a[i] = 0;
        b[i] = i;
        c[i] = 2;
    }
    for (int round = 0; round < 8; round++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++)
            a[i] = b[i] + 3 * c[i];
    }
    printf("%.1f\n", a[n / 2]);
    return 0;
}
