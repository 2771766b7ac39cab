// Which floating-point environment threads compute with. gcc's threads inherit that of the thread
// that creates them, and nothing more; clang's get that of the thread that meets the region each
// time, which has its own again after the region.
// fathomp: flags -lm
#include "check.h"
#include <fenv.h>
#include <omp.h>
#include <pmmintrin.h>
#include <xmmintrin.h>

#ifdef __clang__
enum { HANDED_ON = 1 };
#else
enum { HANDED_ON = 0 };
#endif

// Rounding as both units of the processor have it, and what becomes of denormal numbers.
static unsigned environment(void) {
    return (unsigned)fegetround() | (_mm_getcsr() & 0xe040);
}

static void all_have(unsigned first, unsigned others) {
    const unsigned expected[2] = {first, others};
#pragma omp parallel
    CHECK_EQ(environment(), expected[omp_get_thread_num() != 0]);
}

int main(void) {
    fesetround(FE_UPWARD);
    const unsigned up = environment();
    all_have(up, up);

    fesetround(FE_DOWNWARD);
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
    const unsigned down = environment();
    all_have(down, HANDED_ON ? down : up);

    // What the initial thread changes inside a region.
#pragma omp parallel
    fesetround(FE_TOWARDZERO);
    fesetround(FE_TOWARDZERO);
    const unsigned zero = environment();
    CHECK(zero != down);
    fesetround(FE_DOWNWARD);
#pragma omp parallel num_threads(1)
    fesetround(FE_TOWARDZERO);
    CHECK_EQ(environment(), HANDED_ON ? down : zero);
    fesetround(FE_DOWNWARD);
    int never = omp_get_max_threads() < 0;
#pragma omp parallel for if (never)
    for (int i = 0; i < 4; i++) {
        fesetround(FE_TOWARDZERO);
    }
    CHECK_EQ(environment(), HANDED_ON ? down : zero);

    // Regions inside others.
    omp_set_max_active_levels(1);
#pragma omp parallel
    {
        fesetround(FE_UPWARD);
        const unsigned before = environment();
#pragma omp parallel
        {
            CHECK_EQ(environment(), before);
            fesetround(FE_TOWARDZERO);
        }
        if (omp_get_num_threads() > 1)
            CHECK_EQ(environment() == before, HANDED_ON);
    }
    return check_result();
}
