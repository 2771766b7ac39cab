// fathomp: libgomp takes only the names of predefined allocators
// fathomp: env OMP_ALLOCATOR=omp_default_mem_space:alignment=512,fallback=null_fb
// OMP_ALLOCATOR as a memory space with traits.
#include "check.h"
#include <omp.h>
#include <stdint.h>

int main(void)
{
    for (int i = 1; i < 100; i++) {
        char *p = omp_alloc((size_t)i, omp_null_allocator);
        CHECK(p != NULL && (uintptr_t)p % 512 == 0);
        omp_free(p, omp_null_allocator);
    }
    printf("ok\n");
    return check_result();
}
