// fathomp: nodes refused calls fork
// fathomp: threads 3
// Active and passive waiting, short and long spins: the same results.
#include "env/again.h"
#include <omp.h>

int main(int argc, char **argv)
{
    if (argc > 1) {
        int sum = 0;
        for (int round = 0; round < 50; round++) {
#pragma omp parallel reduction(+ : sum)
            {
#pragma omp barrier
#pragma omp for schedule(dynamic)
                for (int i = 0; i < 10; i++)
                    sum += i;
#pragma omp single
                sum += 5;
            }
        }
        CHECK_EQ(sum, 50 * 50);
        return check_result();
    }
    static const char *const settings[][3] = {
        {"OMP_WAIT_POLICY=active", NULL},
        {"OMP_WAIT_POLICY=passive", NULL},
        {"GOMP_SPINCOUNT=0", NULL},
        {"GOMP_SPINCOUNT=100", NULL},
        {"GOMP_SPINCOUNT=infinity", NULL},
        {"OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=5000", NULL},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        CHECK_EQ(again(argv[0], "inner", settings[i]), 0);
        CHECK_EQ(again_lines(), 0);
    }
    printf("ok\n");
    return check_result();
}
