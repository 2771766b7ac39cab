// fathomp: nodes refused calls mremap
// Moves memory: pages of mmap, then pages of the program's own variables.
#define _GNU_SOURCE
#include "check.h"
#include <omp.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static _Alignas(PAGE) char variables[4 * PAGE];

int main(void)
{
    char *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    mapped[5] = 7;
    CHECK_EQ(mprotect(mapped, PAGE, PROT_READ), 0);
    mapped = mremap(mapped, PAGE, 16 * PAGE, MREMAP_MAYMOVE);
    CHECK(mapped != MAP_FAILED && mapped[5] == 7);
    CHECK_EQ(munmap(mapped, 16 * PAGE), 0);
#pragma omp parallel
    {
#pragma omp single
        variables[PAGE] = 9;
    }
    char *moved = mremap(variables + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
                         mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(moved != MAP_FAILED && moved[0] == 9);
    printf("ok\n");
    return check_result();
}
