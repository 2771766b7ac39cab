#include "polybench.h"

enum { NI, NJ, NK };

static void kernel_convolution_3d(int ni, int nj, int nk, double w[3][3][3],
                                  double A[restrict ni][nj][nk], double B[restrict ni][nj][nk])
{
#pragma scop
#pragma omp parallel for collapse(2)
    for (int i = 1; i < ni - 1; i++) {
        for (int j = 1; j < nj - 1; j++) {
            for (int k = 1; k < nk - 1; k++)
                B[i][j][k] = 0.0;
            for (int p = 0; p < 3; p++)
                for (int q = 0; q < 3; q++)
                    for (int k = 1; k < nk - 1; k++)
                        B[i][j][k] += w[p][q][0] * A[i - 1 + p][j - 1 + q][k - 1] +
                                      w[p][q][1] * A[i - 1 + p][j - 1 + q][k] +
                                      w[p][q][2] * A[i - 1 + p][j - 1 + q][k + 1];
        }
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    static double weights[3][3][3] = {
        {{0.2, -0.3, 0.4}, {0.5, 0.6, 0.7}, {-0.8, -0.9, 0.1}},
        {{-0.4, 0.1, 0.3}, {0.9, 0.2, -0.6}, {0.7, -0.5, 0.8}},
        {{0.6, 0.8, -0.1}, {-0.2, 0.4, 0.5}, {0.3, 0.9, -0.7}},
    };
    kernel_convolution_3d(n[NI], n[NJ], n[NK], weights, a[0], a[1]);
}

static double operations(const int *n)
{
    return 54.0 * (n[NI] - 2.0) * (n[NJ] - 2.0) * (n[NK] - 2.0);
}

const struct polybench_kernel polybench_kernel = {
    .name = "convolution-3d",
    .about = "volume times a mask of 3 by 3 by 3",
    .parameter = {"ni", "nj", "nk"},
    .set = {{12, 12, 12}, {24, 24, 24}, {64, 64, 64}, {192, 192, 192}, {256, 256, 256}},
    .array = {{GRID(NI, NJ, NK)}, {GRID(NI, NJ, NK), .output = true}},
    .operations = operations,
    .run = run,
};
