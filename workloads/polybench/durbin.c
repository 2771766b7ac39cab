#include "polybench.h"

enum { N };

/* Terms that are summed by one thread. The sum of the blocks' sums is then the
 * same for any number of threads. */
enum { BLOCK = 64 };

/* Every thread keeps its own alpha and beta, which are the same in all. */
static void kernel_durbin(int n, double r[restrict n], double y[restrict n],
                          double partial[restrict n])
{
#pragma scop
#pragma omp parallel
    {
        double alpha = -r[0];
        double beta = 1.0;
#pragma omp single
        y[0] = alpha;

        for (int k = 1; k < n; k++) {
#pragma omp for
            for (int block = 0; block < k; block += BLOCK) {
                double sum = 0.0;
                for (int i = block; i < smaller(block + BLOCK, k); i++)
                    sum += r[k - 1 - i] * y[i];
                partial[block / BLOCK] = sum;
            }

            double sum = r[k];
            for (int block = 0; block < k; block += BLOCK)
                sum += partial[block / BLOCK];
            beta *= 1.0 - alpha * alpha;
            alpha = -sum / beta;

            /* y[i] += alpha * y[k - 1 - i], both ends of the vector at once. */
#pragma omp single nowait
            y[k] = alpha;
#pragma omp for
            for (int i = 0; i < (k + 1) / 2; i++) {
                double head = y[i], tail = y[k - 1 - i];
                y[i] = head + alpha * tail;
                y[k - 1 - i] = tail + alpha * head;
            }
        }
    }
#pragma endscop
}

/* Together less than the diagonal's 1: the matrix is positive definite. */
static void prepare(const int *n, void *const *a)
{
    double *r = a[0];
    for (int i = 0; i < n[N]; i++)
        r[i] /= 2.0 * n[N];
}

static void run(const int *n, void *const *a)
{
    kernel_durbin(n[N], a[0], a[1], a[2]);
}

static double operations(const int *n)
{
    double m = n[N] - 1.0;
    return 2.0 * m * (m + 1.0) + 5.0 * m;
}

const struct polybench_kernel polybench_kernel = {
    .name = "durbin",
    .about = "Yule-Walker equations of a Toeplitz matrix by Durbin's recursion",
    .parameter = {"n"},
    .set = {{40}, {120}, {400}, {2000}, {4000}},
    .array = {{VECTOR(N)}, {VECTOR(N), .output = true}, {VECTOR(N)}},
    .operations = operations,
    .prepare = prepare,
    .run = run,
};
