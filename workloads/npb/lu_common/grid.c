/* The grid of LU: its values at the start, and what is measured at the end. */
#include "flow.h"
#include "flux.h"
#include <math.h>

lu_line lu_u[LU_POINTS][LU_POINTS];
lu_line lu_forcing[LU_POINTS][LU_POINTS];
lu_line lu_residual[LU_POINTS][LU_POINTS];

static double coordinate(int index)
{
    return (double)index / (LU_POINTS - 1);
}

static void exact_at(int k, int j, int i, double u[LU_COMPONENTS])
{
    flow_exact(coordinate(i), coordinate(j), coordinate(k), u);
}

static int on_boundary(int k, int j, int i)
{
    return k == 0 || j == 0 || i == 0 || k > LU_LAST || j > LU_LAST || i > LU_LAST;
}

void lu_set_forcing(void)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int k = 0; k < LU_POINTS; k++)
            for (int j = 0; j < LU_POINTS; j++)
                for (int i = 0; i < LU_POINTS; i++) {
                    double u[LU_COMPONENTS];
                    exact_at(k, j, i, u);
                    for (int m = 0; m < LU_COMPONENTS; m++) {
                        lu_u[k][j][m][i] = u[m];
                        lu_forcing[k][j][m][i] = 0.0;
                        lu_residual[k][j][m][i] = 0.0;
                    }
                }
        lu_compute_residual();
#pragma omp for schedule(static)
        for (int k = 1; k <= LU_LAST; k++)
            for (int j = 1; j <= LU_LAST; j++)
                for (int m = 0; m < LU_COMPONENTS; m++)
                    for (int i = 1; i <= LU_LAST; i++)
                        lu_forcing[k][j][m][i] = lu_residual[k][j][m][i];
    }
}

/* Exact on the boundary, and interpolated from it inside (section 3.4: the
 * boolean sum of linear interpolations along the axes). */
static void start_at(int k, int j, int i, double u[LU_COMPONENTS])
{
    if (on_boundary(k, j, i)) {
        exact_at(k, j, i, u);
        return;
    }
    const int end = LU_POINTS - 1;
    const double x = coordinate(i), y = coordinate(j), z = coordinate(k);
    double low[3][LU_COMPONENTS], high[3][LU_COMPONENTS];
    exact_at(k, j, 0, low[0]);
    exact_at(k, j, end, high[0]);
    exact_at(k, 0, i, low[1]);
    exact_at(k, end, i, high[1]);
    exact_at(0, j, i, low[2]);
    exact_at(end, j, i, high[2]);
    for (int m = 0; m < LU_COMPONENTS; m++) {
        double p = (1.0 - x) * low[0][m] + x * high[0][m];
        double q = (1.0 - y) * low[1][m] + y * high[1][m];
        double r = (1.0 - z) * low[2][m] + z * high[2][m];
        u[m] = p + q + r - p * q - q * r - r * p + p * q * r;
    }
}

void lu_set_start(void)
{
#pragma omp parallel for schedule(static)
    for (int k = 0; k < LU_POINTS; k++)
        for (int j = 0; j < LU_POINTS; j++)
            for (int i = 0; i < LU_POINTS; i++) {
                double u[LU_COMPONENTS];
                start_at(k, j, i, u);
                for (int m = 0; m < LU_COMPONENTS; m++)
                    lu_u[k][j][m][i] = u[m];
            }
}

/* Root of the mean over inner points. */
static void take_root(double norm[LU_COMPONENTS])
{
    for (int m = 0; m < LU_COMPONENTS; m++)
        norm[m] = sqrt(norm[m] / ((double)LU_LAST * LU_LAST * LU_LAST));
}

void lu_norm_of_residual(double norm[LU_COMPONENTS])
{
    double sum[LU_COMPONENTS] = {0.0};
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int k = 1; k <= LU_LAST; k++)
        for (int j = 1; j <= LU_LAST; j++)
            for (int m = 0; m < LU_COMPONENTS; m++)
                for (int i = 1; i <= LU_LAST; i++)
                    sum[m] += lu_residual[k][j][m][i] * lu_residual[k][j][m][i];
    for (int m = 0; m < LU_COMPONENTS; m++)
        norm[m] = sum[m];
    take_root(norm);
}

void lu_norm_of_error(double norm[LU_COMPONENTS])
{
    double sum[LU_COMPONENTS] = {0.0};
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int k = 1; k <= LU_LAST; k++)
        for (int j = 1; j <= LU_LAST; j++)
            for (int i = 1; i <= LU_LAST; i++) {
                double exact[LU_COMPONENTS];
                exact_at(k, j, i, exact);
                for (int m = 0; m < LU_COMPONENTS; m++) {
                    double error = exact[m] - lu_u[k][j][m][i];
                    sum[m] += error * error;
                }
            }
    for (int m = 0; m < LU_COMPONENTS; m++)
        norm[m] = sum[m];
    take_root(norm);
}

static double pressure_at(int k, int j, int i)
{
    struct lu_cell c = lu_cell_at(lu_u[k][j], i);
    return c.pressure;
}

/* Weight of a point among those from `first` to `last` in the trapezoidal rule. */
static double trapezoid(int index, int first, int last)
{
    return index == first || index == last ? 0.5 : 1.0;
}

/* The integral of the pressure over the faces of an inner box (section 3, LU);
 * the published box is not symmetric. */
double lu_surface_integral(void)
{
    const int x[2] = {1, LU_LAST}, y[2] = {1, LU_LAST - 1}, z[2] = {2, LU_LAST};
    double sum = 0.0;
    for (int side = 0; side < 2; side++) {
        for (int j = y[0]; j <= y[1]; j++)
            for (int i = x[0]; i <= x[1]; i++)
                sum += trapezoid(j, y[0], y[1]) * trapezoid(i, x[0], x[1]) *
                       pressure_at(z[side], j, i);
        for (int k = z[0]; k <= z[1]; k++)
            for (int i = x[0]; i <= x[1]; i++)
                sum += trapezoid(k, z[0], z[1]) * trapezoid(i, x[0], x[1]) *
                       pressure_at(k, y[side], i);
        for (int k = z[0]; k <= z[1]; k++)
            for (int j = y[0]; j <= y[1]; j++)
                sum += trapezoid(k, z[0], z[1]) * trapezoid(j, y[0], y[1]) *
                       pressure_at(k, j, x[side]);
    }
    return sum / ((double)(LU_POINTS - 1) * (LU_POINTS - 1));
}
