// fathomp: nodes skipped each node has an environment of its own
// What the program sets before its first call counts where the compiler's own runtime looks at
// the environment then (LLVM's), and does not where that looks when it is loaded (gcc's).
#include "check.h"
#include <omp.h>

int main(void)
{
    setenv("OMP_NUM_THREADS", "11", 1);
#ifdef __clang__
    CHECK_EQ(omp_get_max_threads(), 11);
#else
    CHECK(omp_get_max_threads() != 11);
#endif
    printf("ok\n");
    return check_result();
}
