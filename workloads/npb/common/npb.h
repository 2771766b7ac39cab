/* What the NAS Parallel Benchmarks share.
 *
 * Written from D. Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007
 * (1994): the random numbers of section 2.3, the classes and the rules of
 * verification. The class is chosen when a program is built, with -DNPB_CLASS_W
 * and the like, so that array bounds are constants as in the published codes.
 */
#ifndef FATHOMP_NPB_H
#define FATHOMP_NPB_H

#include "workload.h"
#include <stdint.h>

#if defined(NPB_CLASS_S) + defined(NPB_CLASS_W) + defined(NPB_CLASS_A) + defined(NPB_CLASS_B) + \
        defined(NPB_CLASS_C) > 1
#error "choose one class"
#elif defined(NPB_CLASS_C)
#define NPB_CLASS 'C'
#elif defined(NPB_CLASS_B)
#define NPB_CLASS 'B'
#elif defined(NPB_CLASS_A)
#define NPB_CLASS 'A'
#elif defined(NPB_CLASS_W)
#define NPB_CLASS 'W'
#else
#define NPB_CLASS 'S'
#endif

/* The value for the class that is built. */
#define NPB_BY_CLASS(s, w, a, b, c)                                                            \
    (NPB_CLASS == 'S'   ? (s)                                                                   \
     : NPB_CLASS == 'W' ? (w)                                                                   \
     : NPB_CLASS == 'A' ? (a)                                                                   \
     : NPB_CLASS == 'B' ? (b)                                                                   \
                        : (c))

/* The class as text. */
#define NPB_CLASS_NAME ((const char[]){NPB_CLASS, '\0'})

/* The generator x_{k+1} = a x_k mod 2^46 (section 2.3). The state is a 46-bit
 * integer; the number drawn is x_{k+1} / 2^46, in (0, 1). */
#define NPB_MULTIPLIER UINT64_C(1220703125) /* 5^13 */
#define NPB_MODULUS_MASK ((UINT64_C(1) << 46) - 1)

static inline uint64_t npb_step(uint64_t x, uint64_t a)
{
    return (a * x) & NPB_MODULUS_MASK;
}

static inline double npb_fraction(uint64_t x)
{
    return (double)x * 0x1p-46;
}

/* Draws one number and moves the state on. */
static inline double npb_random(uint64_t *x, uint64_t a)
{
    *x = npb_step(*x, a);
    return npb_fraction(*x);
}

/* a^n mod 2^46: the multiplier that skips n numbers. */
uint64_t npb_power(uint64_t a, uint64_t n);

/* One value that the specification publishes. */
struct npb_check {
    const char *name;
    double computed;
    double published;
};

/* Prints the comparison and says whether all relative differences are within
 * `tolerance`; a NaN never is. */
enum workload_verdict npb_verify(const struct npb_check *checks, int count, double tolerance);

#endif
