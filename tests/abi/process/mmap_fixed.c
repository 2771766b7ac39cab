// fathomp: nodes refused calls mmap(MAP_FIXED)
// Maps memory over other memory: of mmap, then over the program's own variables.
#define _GNU_SOURCE
#include "check.h"
#include <omp.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static _Alignas(PAGE) char variables[4 * PAGE];

static char *map(void *address, int more)
{
    return mmap(address, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
}

int main(void)
{
    CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    char *mapped = map(NULL, 0);
    CHECK(mapped != MAP_FAILED);
    mapped[5] = 7;
    CHECK(map(mapped, MAP_FIXED) == mapped && mapped[5] == 0);
#pragma omp parallel
    {
#pragma omp single
        variables[PAGE] = 9;
    }
    CHECK(map(variables + PAGE, MAP_FIXED) == variables + PAGE && variables[PAGE] == 0);
#pragma omp parallel
    {
#pragma omp critical
        variables[PAGE]++;
    }
    CHECK_EQ(variables[PAGE], omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
