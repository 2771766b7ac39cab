#include "polybench.h"

enum { W, H };

/* Coefficients of the smoothing filter for `alpha`: R. Deriche, "Recursively
 * implementing the Gaussian and its derivatives", INRIA RR-1893 (1993). */
struct filter {
    float a1, a2, a3, a4, b1, b2;
};

static struct filter smoothing(double alpha)
{
    double decay = exp(-alpha);
    double k = (1.0 - decay) * (1.0 - decay) / (1.0 + 2.0 * alpha * decay - decay * decay);
    return (struct filter){
        .a1 = (float)k,
        .a2 = (float)(k * decay * (alpha - 1.0)),
        .a3 = (float)(k * decay * (alpha + 1.0)),
        .a4 = (float)(-k * decay * decay),
        .b1 = (float)(2.0 * decay),
        .b2 = (float)(-decay * decay),
    };
}

/* Along each axis the sum of a causal filter and its mirror image, zero
 * outside the image: along rows, which are independent, then along columns,
 * which are, too. */
static void kernel_deriche(int w, int h, struct filter f, float in[restrict w][h],
                           float out[restrict w][h], float y1[restrict w][h],
                           float y2[restrict w][h])
{
#pragma scop
#pragma omp parallel for
    for (int i = 0; i < w; i++) {
        float x1 = 0.0f, x2 = 0.0f, back1 = 0.0f, back2 = 0.0f;
        for (int j = 0; j < h; j++) {
            y1[i][j] = f.a1 * in[i][j] + f.a2 * x1 + f.b1 * back1 + f.b2 * back2;
            x1 = in[i][j];
            back2 = back1;
            back1 = y1[i][j];
        }
        x1 = x2 = back1 = back2 = 0.0f;
        for (int j = h - 1; j >= 0; j--) {
            y2[i][j] = f.a3 * x1 + f.a4 * x2 + f.b1 * back1 + f.b2 * back2;
            x2 = x1;
            x1 = in[i][j];
            back2 = back1;
            back1 = y2[i][j];
        }
        for (int j = 0; j < h; j++)
            out[i][j] = y1[i][j] + y2[i][j];
    }

#pragma omp parallel for
    for (int block = 0; block < h; block += COLUMNS) {
        int width = smaller(COLUMNS, h - block);
        float x1[COLUMNS] = {0}, x2[COLUMNS] = {0}, back1[COLUMNS] = {0}, back2[COLUMNS] = {0};
        for (int i = 0; i < w; i++) {
            for (int c = 0; c < width; c++) {
                int j = block + c;
                y1[i][j] = f.a1 * out[i][j] + f.a2 * x1[c] + f.b1 * back1[c] + f.b2 * back2[c];
                x1[c] = out[i][j];
                back2[c] = back1[c];
                back1[c] = y1[i][j];
            }
        }
        for (int c = 0; c < width; c++)
            x1[c] = x2[c] = back1[c] = back2[c] = 0.0f;
        for (int i = w - 1; i >= 0; i--) {
            for (int c = 0; c < width; c++) {
                int j = block + c;
                y2[i][j] = f.a3 * x1[c] + f.a4 * x2[c] + f.b1 * back1[c] + f.b2 * back2[c];
                x2[c] = x1[c];
                x1[c] = out[i][j];
                back2[c] = back1[c];
                back1[c] = y2[i][j];
            }
        }
        for (int i = 0; i < w; i++)
            for (int j = block; j < block + width; j++)
                out[i][j] = y1[i][j] + y2[i][j];
    }
#pragma endscop
}

static void run(const int *n, void *const *a)
{
    kernel_deriche(n[W], n[H], smoothing(0.25), a[0], a[1], a[2], a[3]);
}

static double operations(const int *n)
{
    return 30.0 * n[W] * n[H];
}

const struct polybench_kernel polybench_kernel = {
    .name = "deriche",
    .about = "Deriche's recursive smoothing of an image",
    .parameter = {"w", "h"},
    .set = {{64, 64}, {192, 128}, {720, 480}, {4096, 2160}, {7680, 4320}},
    .array = {{MATRIX(W, H), .element = FLOAT},
              {MATRIX(W, H), .element = FLOAT, .output = true},
              {MATRIX(W, H), .element = FLOAT},
              {MATRIX(W, H), .element = FLOAT}},
    .operations = operations,
    .run = run,
};
