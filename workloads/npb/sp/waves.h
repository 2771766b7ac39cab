/* From components to waves and back.
 *
 * T_x, T_y and T_z have the eigenvectors of the convective Jacobians as
 * columns. The first sweep needs T_x^-1, the last one T_z; between two
 * directions only the products T_x^-1 T_y and T_y^-1 T_z are needed, which do
 * not depend on the state. All work in place, on all lanes. */
#ifndef FATHOMP_NPB_SP_WAVES_H
#define FATHOMP_NPB_SP_WAVES_H

#include "sweep.h"

#define SQRT_HALF 0.70710678118654752440

/* Square of the speed of sound. */
static inline lanes sound_squared(const struct flow *f)
{
    return ADI_C1 * ADI_C2 * (f->energy - f->kinetic);
}

static inline lanes square_root(lanes x)
{
    for (int w = 0; w < LANES; w++)
        x[w] = sqrt(x[w]);
    return x;
}

/* r = T_x^-1 r. */
static inline void components_to_x(lanes r[ADI_COMPONENTS], const struct flow *f, lanes sound)
{
    const lanes pressure = ADI_C2 * (f->kinetic * r[0] - f->along * r[1] - f->b * r[2] -
                                     f->c * r[3] + r[4]) /
                           sound_squared(f);
    const lanes shift = SQRT_HALF * f->volume * (f->along * r[0] - r[1]);
    const lanes wave = SQRT_HALF * f->volume * sound * pressure;
    const lanes y = f->volume * (f->b * r[0] - r[2]);
    const lanes z = f->volume * (r[3] - f->c * r[0]);

    r[0] -= pressure;
    r[1] = z;
    r[2] = y;
    r[3] = wave - shift;
    r[4] = wave + shift;
}

/* r = T_y^-1 T_x r. */
static inline void x_to_y(lanes r[ADI_COMPONENTS])
{
    const lanes shear = SQRT_HALF * r[2], mean = 0.5 * (r[3] + r[4]);
    const lanes entropy = r[0];

    r[0] = -r[1];
    r[1] = entropy;
    r[2] = SQRT_HALF * (r[3] - r[4]);
    r[3] = mean - shear;
    r[4] = mean + shear;
}

/* r = T_z^-1 T_y r. */
static inline void y_to_z(lanes r[ADI_COMPONENTS])
{
    const lanes shear = SQRT_HALF * r[0], mean = 0.5 * (r[3] + r[4]);
    const lanes entropy = r[1];

    r[0] = SQRT_HALF * (r[3] - r[4]);
    r[1] = -r[2];
    r[2] = entropy;
    r[3] = mean - shear;
    r[4] = mean + shear;
}

/* r = T_z r; of the sweep in z, so `along` is z, `b` is x and `c` is y. */
static inline void z_to_components(lanes r[ADI_COMPONENTS], const struct flow *f, lanes sound)
{
    const lanes density = 1.0 / f->volume;
    const lanes pressure = SQRT_HALF * density / sound * (r[3] + r[4]);
    const lanes mass = r[2] + pressure;
    const lanes wave = SQRT_HALF * density * (r[3] - r[4]);
    const lanes x = -density * r[1], y = density * r[0];

    r[0] = mass;
    r[1] = x + f->b * mass;
    r[2] = y + f->c * mass;
    r[3] = wave + f->along * mass;
    r[4] = f->b * x + f->c * y + f->along * wave + f->kinetic * mass +
           sound_squared(f) / ADI_C2 * pressure;
}

#endif
