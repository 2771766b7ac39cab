/* The flow that BT, SP and LU compute.
 *
 * The three simulated applications of RNR-94-007, section 3, solve the same
 * synthetic system of five equations on the unit cube; its exact steady
 * solution is a polynomial in each coordinate, from which boundary values,
 * forcing and errors follow.
 */
#ifndef FATHOMP_NPB_FLOW_H
#define FATHOMP_NPB_FLOW_H

/* C_{m,n} of the specification's table of coefficients: for each component a
 * constant, then the factors of xi, eta, zeta, of their squares, cubes and
 * fourth powers. */
extern const double flow_coefficients[5][13];

/* The exact solution u at the point (xi, eta, zeta) of the unit cube: density,
 * three momenta, energy. */
void flow_exact(double xi, double eta, double zeta, double u[5]);

#endif
