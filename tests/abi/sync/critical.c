// Critical sections exclude each other by name, and only by name.
#include "check.h"
#include <omp.h>

extern void GOMP_critical_start(void);
extern void GOMP_critical_end(void);
extern void GOMP_critical_name_start(void **);
extern void GOMP_critical_name_end(void **);

int main(void)
{
    long plain = 0, one = 0, two = 0, hinted = 0, manual = 0, named = 0;
    static void *name;
    enum { ROUNDS = 2000 };
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp critical
        plain++;
#pragma omp critical(one)
        one++;
#pragma omp critical(two)
        {
            two++;
            // A different name may be taken inside.
#pragma omp critical(hinted) hint(omp_sync_hint_contended)
            hinted++;
        }
        GOMP_critical_start();
        manual++;
        GOMP_critical_end();
        GOMP_critical_name_start(&name);
        named++;
        GOMP_critical_name_end(&name);
    }
    long want = (long)ROUNDS * omp_get_max_threads();
    CHECK_EQ(plain, want);
    CHECK_EQ(one, want);
    CHECK_EQ(two, want);
    CHECK_EQ(hinted, want);
    CHECK_EQ(manual, want);
    CHECK_EQ(named, want);
    printf("%ld\n", want);
    return check_result();
}
