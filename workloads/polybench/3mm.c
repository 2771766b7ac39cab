#include "polybench.h"

enum { NI, NJ, NK, NL, NM };

/* C = A B */
static void multiply(int rows, int columns, int inner, double C[restrict rows][columns],
                     double A[restrict rows][inner], double B[restrict inner][columns])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++)
            C[i][j] = 0.0;
        for (int k = 0; k < inner; k++)
            for (int j = 0; j < columns; j++)
                C[i][j] += A[i][k] * B[k][j];
    }
#pragma endscop
}

static void kernel_3mm(int ni, int nj, int nk, int nl, int nm, double E[restrict ni][nj],
                       double A[restrict ni][nk], double B[restrict nk][nj],
                       double F[restrict nj][nl], double C[restrict nj][nm],
                       double D[restrict nm][nl], double G[restrict ni][nl])
{
    multiply(ni, nj, nk, E, A, B);
    multiply(nj, nl, nm, F, C, D);
    multiply(ni, nl, nj, G, E, F);
}

static void run(const int *n, void *const *a)
{
    kernel_3mm(n[NI], n[NJ], n[NK], n[NL], n[NM], a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
}

static double operations(const int *n)
{
    double ni = n[NI], nj = n[NJ], nk = n[NK], nl = n[NL], nm = n[NM];
    return 2.0 * (ni * nj * nk + nj * nl * nm + ni * nl * nj);
}

const struct polybench_kernel polybench_kernel = {
    .name = "3mm",
    .about = "three products of matrices, G = (A B) (C D)",
    .parameter = {"ni", "nj", "nk", "nl", "nm"},
    .set = {{16, 18, 20, 22, 24},
            {40, 50, 60, 70, 80},
            {180, 190, 200, 210, 220},
            {800, 900, 1000, 1100, 1200},
            {1600, 1800, 2000, 2200, 2400}},
    .array = {{MATRIX(NI, NJ)},
              {MATRIX(NI, NK)},
              {MATRIX(NK, NJ)},
              {MATRIX(NJ, NL)},
              {MATRIX(NJ, NM)},
              {MATRIX(NM, NL)},
              {MATRIX(NI, NL), .output = true}},
    .operations = operations,
    .run = run,
};
