#include "polybench.h"

enum { NQ, NR, NP };

static void kernel_doitgen(int nq, int nr, int np, double A[restrict nr][nq][np],
                           double C4[restrict np][np])
{
#pragma scop
#pragma omp parallel for collapse(2)
    for (int r = 0; r < nr; r++) {
        for (int q = 0; q < nq; q++) {
            double sum[np];
            for (int p = 0; p < np; p++)
                sum[p] = 0.0;
            for (int s = 0; s < np; s++)
                for (int p = 0; p < np; p++)
                    sum[p] += A[r][q][s] * C4[s][p];
            for (int p = 0; p < np; p++)
                A[r][q][p] = sum[p];
        }
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_doitgen(n[NQ], n[NR], n[NP], a[0], a[1]);
}

static double operations(const int *n)
{
    return 2.0 * n[NQ] * n[NR] * n[NP] * n[NP];
}

const struct polybench_kernel polybench_kernel = {
    .name = "doitgen",
    .about = "product along the last axis, A[r][q][p] = sum of A[r][q][s] C4[s][p]",
    .parameter = {"nq", "nr", "np"},
    .set = {{8, 10, 12}, {20, 25, 30}, {40, 50, 60}, {140, 150, 160}, {220, 250, 270}},
    .array = {{GRID(NR, NQ, NP), .output = true}, {MATRIX(NP, NP)}},
    .operations = operations,
    .run = run,
};
