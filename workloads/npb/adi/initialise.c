#include "adi.h"
#include "flow.h"

/* Blends the values at the two ends of a line at the fraction t of it. */
static double blend(const double end[2][ADI_COMPONENTS], int m, double t)
{
    return t * end[1][m] + (1.0 - t) * end[0][m];
}

/* The three blends in x, y and z, put together as one minus the product of
 * their complements. It is exact on the edges only; the faces are set after. */
static void interpolate(double xi, double eta, double zeta, double point[ADI_COMPONENTS])
{
    double x[2][ADI_COMPONENTS], y[2][ADI_COMPONENTS], z[2][ADI_COMPONENTS];
    for (int end = 0; end < 2; end++) {
        flow_exact(end, eta, zeta, x[end]);
        flow_exact(xi, end, zeta, y[end]);
        flow_exact(xi, eta, end, z[end]);
    }
    for (int m = 0; m < ADI_COMPONENTS; m++) {
        double a = blend(x, m, xi), b = blend(y, m, eta), c = blend(z, m, zeta);
        point[m] = a + b + c - a * b - a * c - b * c + a * b * c;
    }
}

static int on_boundary(int p)
{
    return p == 0 || p == ADI_GRID - 1;
}

void adi_initialise(void)
{
#pragma omp parallel for schedule(static)
    for (int k = 0; k < ADI_GRID; k++)
        for (int j = 0; j < ADI_GRID; j++)
            for (int i = 0; i < ADI_GRID; i++) {
                double point[ADI_COMPONENTS];
                double xi = i / ADI_PER_CELL, eta = j / ADI_PER_CELL, zeta = k / ADI_PER_CELL;
                if (on_boundary(i) || on_boundary(j) || on_boundary(k))
                    flow_exact(xi, eta, zeta, point);
                else
                    interpolate(xi, eta, zeta, point);
                for (int m = 0; m < ADI_COMPONENTS; m++)
                    adi_u[adi_line(j, k) + m * ADI_ROW + i] = point[m];
            }
}
