#include "mg.h"
#include <string.h>

#define CHARGES 10
#define SEED UINT64_C(314159265)

struct extreme {
    double value;
    size_t position;
};

/* Puts a value into the list if it is beyond one of it. The list is sorted, the
 * first being the least extreme; `sign` is 1 for largest values, -1 for
 * smallest. No two random numbers are equal, so the order of insertion does not
 * matter. */
static void keep_extreme(struct extreme list[CHARGES], double sign, double value, size_t position)
{
    int i = 0;
    if (sign * value <= sign * list[0].value)
        return;
    for (; i + 1 < CHARGES && sign * value > sign * list[i + 1].value; i++)
        list[i] = list[i + 1];
    list[i] = (struct extreme){value, position};
}

void mg_charges(int n, double *v)
{
    struct extreme largest[CHARGES], smallest[CHARGES];
    size_t points = (size_t)(n - 2);
    for (int i = 0; i < CHARGES; i++) {
        largest[i] = (struct extreme){-1.0, 0};
        smallest[i] = (struct extreme){2.0, 0};
    }

#pragma omp parallel
    {
        struct extreme my_largest[CHARGES], my_smallest[CHARGES];
        memcpy(my_largest, largest, sizeof largest);
        memcpy(my_smallest, smallest, sizeof smallest);
        /* Nobody may merge before everybody has copied the empty lists. */
#pragma omp barrier
#pragma omp for
        for (int i3 = 1; i3 < n - 1; i3++) {
            uint64_t skip = npb_power(NPB_MULTIPLIER, (uint64_t)(i3 - 1) * points * points);
            uint64_t x = npb_step(SEED, skip);
            for (int i2 = 1; i2 < n - 1; i2++)
                for (int i1 = 1; i1 < n - 1; i1++) {
                    size_t position = mg_row(n, i3, i2) + (size_t)i1;
                    double value = npb_random(&x, NPB_MULTIPLIER);
                    keep_extreme(my_largest, 1.0, value, position);
                    keep_extreme(my_smallest, -1.0, value, position);
                }
        }
#pragma omp critical(mg_charges)
        for (int i = 0; i < CHARGES; i++) {
            keep_extreme(largest, 1.0, my_largest[i].value, my_largest[i].position);
            keep_extreme(smallest, -1.0, my_smallest[i].value, my_smallest[i].position);
        }
        mg_zero(n, v);
    }

    for (int i = 0; i < CHARGES; i++) {
        v[largest[i].position] = 1.0;
        v[smallest[i].position] = -1.0;
    }
}
