#include "polybench.h"

enum { NI, NJ, NK, NL };

static void kernel_2mm(int ni, int nj, int nk, int nl, double alpha, double beta,
                       double tmp[restrict ni][nj], double A[restrict ni][nk],
                       double B[restrict nk][nj], double C[restrict nj][nl],
                       double D[restrict ni][nl])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < ni; i++) {
        for (int j = 0; j < nj; j++)
            tmp[i][j] = 0.0;
        for (int k = 0; k < nk; k++)
            for (int j = 0; j < nj; j++)
                tmp[i][j] += alpha * A[i][k] * B[k][j];
    }

#pragma omp parallel for
    for (int i = 0; i < ni; i++) {
        for (int j = 0; j < nl; j++)
            D[i][j] *= beta;
        for (int k = 0; k < nj; k++)
            for (int j = 0; j < nl; j++)
                D[i][j] += tmp[i][k] * C[k][j];
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_2mm(n[NI], n[NJ], n[NK], n[NL], 1.5, 1.2, a[0], a[1], a[2], a[3], a[4]);
}

static double operations(const int *n)
{
    double ni = n[NI], nj = n[NJ], nk = n[NK], nl = n[NL];
    return ni * (nk + 2.0 * nj * nk) + ni * (nl + 2.0 * nj * nl);
}

const struct polybench_kernel polybench_kernel = {
    .name = "2mm",
    .about = "two products of matrices, D = alpha A B C + beta D",
    .parameter = {"ni", "nj", "nk", "nl"},
    .set = {{16, 18, 22, 24},
            {40, 50, 70, 80},
            {180, 190, 210, 220},
            {800, 900, 1100, 1200},
            {1600, 1800, 2200, 2400}},
    .array = {{MATRIX(NI, NJ)},
              {MATRIX(NI, NK)},
              {MATRIX(NK, NJ)},
              {MATRIX(NJ, NL)},
              {MATRIX(NI, NL), .output = true}},
    .operations = operations,
    .run = run,
};
