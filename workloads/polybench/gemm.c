#include "polybench.h"

enum { NI, NJ, NK };

static void kernel_gemm(int ni, int nj, int nk, double alpha, double beta,
                        double C[restrict ni][nj], double A[restrict ni][nk],
                        double B[restrict nk][nj])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < ni; i++) {
        for (int j = 0; j < nj; j++)
            C[i][j] *= beta;
        for (int k = 0; k < nk; k++)
            for (int j = 0; j < nj; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_gemm(n[NI], n[NJ], n[NK], 1.5, 1.2, a[0], a[1], a[2]);
}

static double operations(const int *n)
{
    double ni = n[NI], nj = n[NJ], nk = n[NK];
    return ni * (nj + nk + 2.0 * nj * nk);
}

const struct polybench_kernel polybench_kernel = {
    .name = "gemm",
    .about = "product of matrices, C = alpha A B + beta C",
    .parameter = {"ni", "nj", "nk"},
    .set = {{20, 25, 30}, {60, 70, 80}, {200, 220, 240}, {1000, 1100, 1200}, {2000, 2300, 2600}},
    .array = {{MATRIX(NI, NJ), .output = true}, {MATRIX(NI, NK)}, {MATRIX(NK, NJ)}},
    .operations = operations,
    .run = run,
};
