/* SP: scalar pentadiagonal systems (RNR-94-007, section 3).
 *
 * Marches the synthetic flow of section 3 (see adi.h) with systems that were
 * made independent of each other: the eigenvectors of the convective Jacobian
 * turn the five coupled components into five waves, and along every grid line
 * in x, y and z each of them has a pentadiagonal matrix of numbers.
 *
 * Parallel as in NAS-99-011: one region each for the right-hand side and the
 * three sweeps, the planes of k shared out in equal parts, in z those of j.
 * It shows little arithmetic for much data: all fields pass through the caches
 * in every region, along memory in x, from line to line of a plane in y, and
 * from page to page in z, where each thread meets the planes of all others.
 */
#include "adi.h"

#define N ((double)ADI_GRID)

/* The published counts per step. */
#define OPERATIONS (881.174 * N * N * N - 4683.91 * N * N + 11484.5 * N - 19272.4)

const struct adi_program adi_program = {
    .name = "sp",
    .operations_per_step = OPERATIONS,
    .rhs_norms =
        {
            NPB_BY_CLASS(2.7470315451339479e-02, 0.1893253733584e-02, 2.4799822399300195e+00,
                         0.6903293579998e+02, 0.5881691581829e+03),
            NPB_BY_CLASS(1.0360746705285417e-02, 0.1717075447775e-03, 1.1276337964368832e+00,
                         0.3095134488084e+02, 0.2454417603569e+03),
            NPB_BY_CLASS(1.6235745065095532e-02, 0.2778153350936e-03, 1.5028977888770491e+00,
                         0.4103336647017e+02, 0.3293829191851e+03),
            NPB_BY_CLASS(1.5840557224455615e-02, 0.2887475409984e-03, 1.4217816211695179e+00,
                         0.3864769009604e+02, 0.3081924971891e+03),
            NPB_BY_CLASS(3.4849040609362460e-02, 0.3143611161242e-02, 2.1292113035138280e+00,
                         0.5643482272596e+02, 0.4597223799176e+03),
        },
    .error_norms =
        {
            NPB_BY_CLASS(2.7289258557377227e-05, 0.7542088599534e-04, 1.0900140297820550e-04,
                         0.9810006190188e-02, 0.2598120500183e+00),
            NPB_BY_CLASS(1.0364446640837285e-05, 0.6512852253086e-05, 3.7343951769282091e-05,
                         0.1022827905670e-02, 0.2590888922315e-01),
            NPB_BY_CLASS(1.6154798287166471e-05, 0.1049092285688e-04, 5.0092785406541633e-05,
                         0.1720597911692e-02, 0.5132886416320e-01),
            NPB_BY_CLASS(1.5750704994480102e-05, 0.1128838671535e-04, 4.7671093939528255e-05,
                         0.1694479428231e-02, 0.4806073419454e-01),
            NPB_BY_CLASS(3.4177666183390531e-05, 0.1212845639773e-03, 1.3621613399213001e-04,
                         0.1847456263981e-01, 0.5483377491301e+00),
        },
};
