#include "polybench.h"

enum { TSTEPS, N };

/* Peaceman and Rachford's method (J. SIAM 3, 1955) for u_t = 2 u_xx + u_yy on
 * the unit square, u = 1 on its boundary. Each half step is implicit along one
 * axis only: one tridiagonal system for each line along it, solved by forward
 * elimination (p, q) and back substitution. Lines along the first axis are
 * taken in blocks of columns, those along the second row by row. */
static void kernel_adi(int tsteps, int n, double u[restrict n][n], double v[restrict n][n],
                       double p[restrict n][n], double q[restrict n][n])
{
    double x_rate = 2.0 / tsteps * n * n, y_rate = 1.0 / tsteps * n * n;
    double a = -0.5 * x_rate, b = 1.0 + x_rate;
    double d = -0.5 * y_rate, e = 1.0 + y_rate;

#pragma scop
    for (int t = 0; t < tsteps; t++) {
#pragma omp parallel for
        for (int block = 1; block < n - 1; block += COLUMNS) {
            int end = smaller(block + COLUMNS, n - 1);
            for (int j = block; j < end; j++) {
                v[0][j] = v[n - 1][j] = 1.0;
                p[0][j] = 0.0;
                q[0][j] = 1.0;
            }
            for (int i = 1; i < n - 1; i++) {
                for (int j = block; j < end; j++) {
                    double pivot = a * p[i - 1][j] + b;
                    double right = -d * u[i][j - 1] + (1.0 + 2.0 * d) * u[i][j] - d * u[i][j + 1];
                    p[i][j] = -a / pivot;
                    q[i][j] = (right - a * q[i - 1][j]) / pivot;
                }
            }
            for (int i = n - 2; i > 0; i--)
                for (int j = block; j < end; j++)
                    v[i][j] = p[i][j] * v[i + 1][j] + q[i][j];
        }

#pragma omp parallel for
        for (int i = 1; i < n - 1; i++) {
            u[i][0] = u[i][n - 1] = 1.0;
            p[i][0] = 0.0;
            q[i][0] = 1.0;
            for (int j = 1; j < n - 1; j++) {
                double pivot = d * p[i][j - 1] + e;
                double right = -a * v[i - 1][j] + (1.0 + 2.0 * a) * v[i][j] - a * v[i + 1][j];
                p[i][j] = -d / pivot;
                q[i][j] = (right - d * q[i][j - 1]) / pivot;
            }
            for (int j = n - 2; j > 0; j--)
                u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
        }
    }
#pragma endscop
}

static void prepare(const int *n, void *const *a)
{
    int last = n[N] - 1;
    double(*u)[n[N]] = a[0];
    for (int i = 0; i <= last; i++)
        u[0][i] = u[last][i] = u[i][0] = u[i][last] = 1.0;
}

static void run(const int *n, void *const *a)
{
    kernel_adi(n[TSTEPS], n[N], a[0], a[1], a[2], a[3]);
}

static double operations(const int *n)
{
    double inside = n[N] - 2.0;
    return 2.0 * n[TSTEPS] * inside * inside * 13.0;
}

const struct polybench_kernel polybench_kernel = {
    .name = "adi",
    .about = "heat on a square by alternating directions",
    .parameter = {"tsteps", "n"},
    .set = {{20, 20}, {40, 60}, {100, 200}, {500, 1000}, {1000, 2000}},
    .array = {{MATRIX(N, N), .output = true}, {MATRIX(N, N)}, {MATRIX(N, N)}, {MATRIX(N, N)}},
    .operations = operations,
    .prepare = prepare,
    .run = run,
};
