// fathomp: env OMP_ALLOCATOR=omp_large_cap_mem_alloc
// OMP_ALLOCATOR sets the default allocator.
#include "check.h"
#include <omp.h>

int main(void)
{
    CHECK_EQ(omp_get_default_allocator(), omp_large_cap_mem_alloc);
    void *p = omp_alloc(100, omp_null_allocator);
    CHECK(p != NULL);
    omp_free(p, omp_null_allocator);
    printf("ok\n");
    return check_result();
}
