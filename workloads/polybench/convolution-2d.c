#include "polybench.h"

enum { NI, NJ };

static void kernel_convolution_2d(int ni, int nj, double w[3][3], double A[restrict ni][nj],
                                  double B[restrict ni][nj])
{
#pragma scop
#pragma omp parallel for
    for (int i = 1; i < ni - 1; i++)
        for (int j = 1; j < nj - 1; j++)
            B[i][j] =
                w[0][0] * A[i - 1][j - 1] + w[0][1] * A[i - 1][j] + w[0][2] * A[i - 1][j + 1] +
                w[1][0] * A[i][j - 1] + w[1][1] * A[i][j] + w[1][2] * A[i][j + 1] +
                w[2][0] * A[i + 1][j - 1] + w[2][1] * A[i + 1][j] + w[2][2] * A[i + 1][j + 1];
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    static double weights[3][3] = {{0.2, 0.5, -0.8}, {-0.3, 0.6, -0.9}, {0.4, 0.7, 0.1}};
    kernel_convolution_2d(n[NI], n[NJ], weights, a[0], a[1]);
}

static double operations(const int *n)
{
    return 17.0 * (n[NI] - 2.0) * (n[NJ] - 2.0);
}

const struct polybench_kernel polybench_kernel = {
    .name = "convolution-2d",
    .about = "image times a mask of 3 by 3",
    .parameter = {"ni", "nj"},
    .set = {{64, 64}, {192, 192}, {512, 512}, {2048, 2048}, {4096, 4096}},
    .array = {{MATRIX(NI, NJ)}, {MATRIX(NI, NJ), .output = true}},
    .operations = operations,
    .run = run,
};
