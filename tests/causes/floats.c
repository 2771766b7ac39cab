/* Flush-to-zero is set in the initial thread alone, when the others exist already: they compute
   with denormal numbers, which takes processors many times as long. */
#include <pmmintrin.h>
#include <stdio.h>
#include <xmmintrin.h>

enum { LENGTH = 4096, ROWS = 400 };
static float factors[LENGTH];

int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < LENGTH; i++)
        factors[i] = 0.9f;
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int row = 0; row < ROWS; row++) {
        float total = 0;
        for (int pass = 0; pass < 20; pass++) {
            float value = 1e-30f;
            for (int i = 0; i < LENGTH; i++) {
                value *= factors[i];
                if (value < 1e-44f)
                    value = 2e-39f;
                total += value;
            }
        }
        sum += total > 0;
    }
    printf("%g\n", sum);
    return 0;
}
