/* BT: block-tridiagonal systems (RNR-94-007, section 3).
 *
 * Marches the synthetic flow of section 3 (see adi.h) with systems that couple
 * the five components: along every grid line in x, y and z a tridiagonal
 * matrix of 5 x 5 blocks, from the Jacobians of the convective and viscous
 * fluxes.
 *
 * Parallel as in NAS-99-011: one region each for the right-hand side and the
 * three sweeps, the planes of k shared out in equal parts, in z those of j.
 * It shows much arithmetic on small blocks that stay in the caches, and with
 * it three ways through the same fields: along memory in x, from line to line
 * of a plane in y, and from page to page in z, where each thread meets the
 * planes of all others.
 */
#include "adi.h"

#define N ((double)ADI_GRID)

/* The published counts per step. */
#define OPERATIONS (3478.8 * N * N * N - 17655.7 * N * N + 28023.7 * N)

const struct adi_program adi_program = {
    .name = "bt",
    .operations_per_step = OPERATIONS,
    .rhs_norms =
        {
            NPB_BY_CLASS(1.7034283709541311e-01, 0.1125590409344e+03, 1.0806346714637264e+02,
                         1.4233597229287254e+03, 0.62398116551764615e+04),
            NPB_BY_CLASS(1.2975252070034097e-02, 0.1180007595731e+02, 1.1319730901220813e+01,
                         9.9330522590150238e+01, 0.50793239190423964e+03),
            NPB_BY_CLASS(3.2527926989486055e-02, 0.2710329767846e+02, 2.5974354511582465e+01,
                         3.5646025644535285e+02, 0.15423530093013596e+04),
            NPB_BY_CLASS(2.6436421275166801e-02, 0.2469174937669e+02, 2.3665622544678910e+01,
                         3.2485447959084092e+02, 0.13302387929291190e+04),
            NPB_BY_CLASS(1.9211784131744430e-01, 0.2638427874317e+03, 2.5278963211748344e+02,
                         3.2707541254659363e+03, 0.11604087428436455e+05),
        },
    .error_norms =
        {
            NPB_BY_CLASS(4.9976913345811579e-04, 0.4419655736008e+01, 4.2348416040525025e+00,
                         5.2969847140936856e+01, 0.16462008369091265e+03),
            NPB_BY_CLASS(4.5195666782961927e-05, 0.4638531260002e+00, 4.4390282496995698e-01,
                         4.4632896115670668e+00, 0.11497107903824313e+02),
            NPB_BY_CLASS(7.3973765172921357e-05, 0.1011551749967e+01, 9.6692480136345650e-01,
                         1.3122573342210174e+01, 0.41207446207461508e+02),
            NPB_BY_CLASS(7.3821238632439731e-05, 0.9235878729944e+00, 8.8302063039765474e-01,
                         1.2006925323559144e+01, 0.37087651059694167e+02),
            NPB_BY_CLASS(8.9269630987491446e-04, 0.1018045837718e+02, 9.7379901770829278e+00,
                         1.2459576151035986e+02, 0.36211053051841265e+03),
        },
};
