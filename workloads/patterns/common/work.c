#include "work.h"

void work_do(uint64_t *words, size_t count, long steps)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t x = words[i];
        for (long step = 0; step < steps; step++)
            x = WORK_STEP.factor * x + WORK_STEP.addend;
        words[i] = x;
    }
}

struct work work_of(uint64_t steps)
{
    struct work all = {1, 0}, power = WORK_STEP;
    for (; steps > 0; steps >>= 1) {
        if (steps & 1)
            all = (struct work){power.factor * all.factor, power.factor * all.addend + power.addend};
        power = (struct work){power.factor * power.factor, (power.factor + 1) * power.addend};
    }
    return all;
}
