#include "polybench.h"

enum { N };

/* Ways through vertex k cannot shorten those from it, so row k is only read. */
static void kernel_floyd_warshall(int n, int path[restrict n][n])
{
#pragma scop
#pragma omp parallel
    for (int k = 0; k < n; k++) {
#pragma omp for
        for (int i = 0; i < n; i++) {
            if (i == k)
                continue;
            int to_k = path[i][k];
            for (int j = 0; j < n; j++)
                path[i][j] = smaller(path[i][j], to_k + path[k][j]);
        }
    }
#pragma endscop
}

/* From a vertex to itself it is no way. */
static void prepare(const int *n, void *const *a)
{
    int(*path)[n[N]] = a[0];
    for (int i = 0; i < n[N]; i++)
        path[i][i] = 0;
}

static void run(const int *n, void *const *a)
{
    kernel_floyd_warshall(n[N], a[0]);
}

static double operations(const int *n)
{
    double size = n[N];
    return 2.0 * size * size * (size - 1.0);
}

const struct polybench_kernel polybench_kernel = {
    .name = "floyd-warshall",
    .about = "shortest ways between all vertices of a graph",
    .parameter = {"n"},
    .set = {{60}, {180}, {500}, {2800}, {5600}},
    .array = {{MATRIX(N, N), .element = INT, .output = true}},
    .unit = "integer",
    .operations = operations,
    .prepare = prepare,
    .run = run,
};
