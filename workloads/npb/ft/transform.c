#include "ft.h"
#include <math.h>
#include <string.h>

/* Transforms are done in blocks of so many lines side by side: one line along y
 * or z touches one point of a cache line, a block uses it whole. The step along
 * the block is also what the compiler makes vector instructions of. */
#define BLOCK 8

/* A block of lines of up to FT_MAX_N points; real and imaginary parts apart, so
 * that vectors hold one or the other. */
struct block {
    double re[FT_MAX_N * BLOCK], im[FT_MAX_N * BLOCK];
};

/* exp(i pi j / h) for j < h at h + j, for the powers of two h < FT_MAX_N. */
static struct ft_complex roots[FT_MAX_N];

void ft_prepare(void)
{
    const double pi = acos(-1.0);
    for (int h = 1; h < FT_MAX_N; h *= 2)
        for (int j = 0; j < h; j++)
            roots[h + j] = (struct ft_complex){cos(pi * j / h), sin(pi * j / h)};
}

/* First step of the transform of n points if n is an odd power of two: joins
 * transforms of one point to transforms of two. */
static inline void join_two(int n, const struct block *restrict from, struct block *restrict to)
{
    size_t half = (size_t)n / 2 * BLOCK;
    for (size_t i = 0; i < half; i++) {
        to->re[i] = from->re[i] + from->re[i + half];
        to->im[i] = from->im[i] + from->im[i + half];
        to->re[i + half] = from->re[i] - from->re[i + half];
        to->im[i + half] = from->im[i] - from->im[i + half];
    }
}

/* One step of Stockham's algorithm (RNR-94-007, section 3.3) with radix four:
 * of the n points, each four transforms of `joined` points become one, with the
 * points p, p + joined, p + 2 joined and p + 3 joined computed from the four
 * points p. `from` and `to` hold point p of all transforms in a contiguous run.
 * The results lie a quarter of n apart, which is a constant once this is
 * inlined, so that the compiler sees that they do not overlap. */
static inline void join_four(int sign, int n, int joined, const struct block *restrict from,
                             struct block *restrict to)
{
    size_t quarter = (size_t)n / 4 * BLOCK, run = quarter / (size_t)joined;
    for (int p = 0; p < joined; p++) {
        double w1_re = roots[2 * joined + p].re, w1_im = sign * roots[2 * joined + p].im;
        double w2_re = roots[joined + p].re, w2_im = sign * roots[joined + p].im;
        double w3_re = w1_re * w2_re - w1_im * w2_im, w3_im = w1_re * w2_im + w1_im * w2_re;
        const double *from_re = from->re + 4 * (size_t)p * run;
        const double *from_im = from->im + 4 * (size_t)p * run;
        double *to_re = to->re + (size_t)p * run, *to_im = to->im + (size_t)p * run;
        for (size_t i = 0; i < run; i++) {
            double x1_re = from_re[i + run], x1_im = from_im[i + run];
            double x2_re = from_re[i + 2 * run], x2_im = from_im[i + 2 * run];
            double x3_re = from_re[i + 3 * run], x3_im = from_im[i + 3 * run];
            double a_re = from_re[i], a_im = from_im[i];
            double b_re = w1_re * x1_re - w1_im * x1_im, b_im = w1_re * x1_im + w1_im * x1_re;
            double c_re = w2_re * x2_re - w2_im * x2_im, c_im = w2_re * x2_im + w2_im * x2_re;
            double d_re = w3_re * x3_re - w3_im * x3_im, d_im = w3_re * x3_im + w3_im * x3_re;
            double even_re = a_re + c_re, even_im = a_im + c_im;
            double odd_re = b_re + d_re, odd_im = b_im + d_im;
            double even_diff_re = a_re - c_re, even_diff_im = a_im - c_im;
            /* (b - d) turned by a quarter: times the imaginary unit, times sign. */
            double odd_diff_re = sign * (d_im - b_im), odd_diff_im = sign * (b_re - d_re);
            to_re[i] = even_re + odd_re;
            to_im[i] = even_im + odd_im;
            to_re[i + quarter] = even_diff_re + odd_diff_re;
            to_im[i + quarter] = even_diff_im + odd_diff_im;
            to_re[i + 2 * quarter] = even_re - odd_re;
            to_im[i + 2 * quarter] = even_im - odd_im;
            to_re[i + 3 * quarter] = even_diff_re - odd_diff_re;
            to_im[i + 3 * quarter] = even_diff_im - odd_diff_im;
        }
    }
}

/* Transforms the BLOCK lines of n points in `a`, with `b` to work in; returns
 * the one that holds the result. */
static inline struct block *transform_block(int sign, int n, struct block *a, struct block *b)
{
    int joined = 1;
    int odd_power = (n & 0x2AAAAAAA) != 0; /* one of the bits 1, 3, 5... */
    if (odd_power) {
        join_two(n, a, b);
        joined = 2;
    }
    struct block *from = odd_power ? b : a, *to = odd_power ? a : b;
    for (; joined < n; joined *= 4) {
        struct block *result = to;
        join_four(sign, n, joined, from, to);
        to = from;
        from = result;
    }
    return from;
}

static void along_x(int sign, ft_plane *field)
{
    struct block a, b;
#pragma omp for
    for (int k = 0; k < FT_NZ; k++)
        for (int j = 0; j < FT_NY; j += BLOCK) {
            for (int line = 0; line < BLOCK; line++)
                for (int i = 0; i < FT_NX; i++) {
                    a.re[i * BLOCK + line] = field[k][j + line][i].re;
                    a.im[i * BLOCK + line] = field[k][j + line][i].im;
                }
            const struct block *result = transform_block(sign, FT_NX, &a, &b);
            for (int line = 0; line < BLOCK; line++)
                for (int i = 0; i < FT_NX; i++)
                    field[k][j + line][i] = (struct ft_complex){result->re[i * BLOCK + line],
                                                                result->im[i * BLOCK + line]};
        }
}

/* From and to the array: one point of the lines of a block, BLOCK neighbours in
 * a row. */
static inline void load(const struct ft_complex *restrict row, int point,
                        struct block *restrict to)
{
    for (int line = 0; line < BLOCK; line++) {
        to->re[point * BLOCK + line] = row[line].re;
        to->im[point * BLOCK + line] = row[line].im;
    }
}

static inline void store(const struct block *restrict from, int point,
                         struct ft_complex *restrict row)
{
    for (int line = 0; line < BLOCK; line++) {
        row[line].re = from->re[point * BLOCK + line];
        row[line].im = from->im[point * BLOCK + line];
    }
}

static void along_y(int sign, ft_plane *field)
{
    struct block a, b;
#pragma omp for
    for (int k = 0; k < FT_NZ; k++)
        for (int i = 0; i < FT_NX; i += BLOCK) {
            for (int j = 0; j < FT_NY; j++)
                load(&field[k][j][i], j, &a);
            const struct block *result = transform_block(sign, FT_NY, &a, &b);
            for (int j = 0; j < FT_NY; j++)
                store(result, j, &field[k][j][i]);
        }
}

static void along_z(int sign, ft_plane *field)
{
    struct block a, b;
#pragma omp for
    for (int j = 0; j < FT_NY; j++)
        for (int i = 0; i < FT_NX; i += BLOCK) {
            for (int k = 0; k < FT_NZ; k++)
                load(&field[k][j][i], k, &a);
            const struct block *result = transform_block(sign, FT_NZ, &a, &b);
            for (int k = 0; k < FT_NZ; k++)
                store(result, k, &field[k][j][i]);
        }
}

void ft_transform(int sign, ft_plane *field)
{
    if (sign < 0) {
        along_x(sign, field);
        along_y(sign, field);
        along_z(sign, field);
    } else {
        along_z(sign, field);
        along_y(sign, field);
        along_x(sign, field);
    }
}
