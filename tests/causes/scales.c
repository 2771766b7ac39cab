/* Equal work in registers, long enough: nothing to blame. */
#include <stdio.h>

int main(void)
{
    double sum = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (int i = 0; i < 4800; i++) {
            double x = i;
            for (int k = 0; k < 6000; k++)
                x = x * 0.9995 + 0.125;
            sum += x;
        }
    }
    printf("%.6f\n", sum);
    return 0;
}
