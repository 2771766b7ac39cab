#include "npb.h"
#include <math.h>
#include <stdio.h>

uint64_t npb_power(uint64_t a, uint64_t n)
{
    uint64_t power = 1;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            power = npb_step(power, a);
        a = npb_step(a, a);
    }
    return power;
}

enum workload_verdict npb_verify(const struct npb_check *checks, int count, double tolerance)
{
    enum workload_verdict verdict = WORKLOAD_RIGHT;
    printf("  %-12s %22s %22s %10s\n", "value", "computed", "published", "difference");
    for (int i = 0; i < count; i++) {
        const struct npb_check *c = &checks[i];
        double scale = c->published != 0.0 ? fabs(c->published) : 1.0;
        double difference = fabs(c->computed - c->published) / scale;
        /* Written so that a NaN fails. */
        int right = difference <= tolerance;
        printf("  %-12s %22.13e %22.13e %10.2e%s\n", c->name, c->computed, c->published, difference,
               right ? "" : "  WRONG");
        if (!right)
            verdict = WORKLOAD_WRONG;
    }
    return verdict;
}
