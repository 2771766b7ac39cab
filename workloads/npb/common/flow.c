#include "flow.h"

const double flow_coefficients[5][13] = {
    {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

/* The part of the polynomial that depends on one coordinate, t; `c` points to
 * the factor of t, those of its higher powers follow three by three. */
static double along(const double *c, double t)
{
    return t * (c[0] + t * (c[3] + t * (c[6] + t * c[9])));
}

void flow_exact(double xi, double eta, double zeta, double u[5])
{
    for (int m = 0; m < 5; m++) {
        const double *c = flow_coefficients[m];
        u[m] = c[0] + along(c + 1, xi) + along(c + 2, eta) + along(c + 3, zeta);
    }
}
