// OpenMP's own inline atomics: the atomic construct in its forms, and flush.
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 500 };

static int count;
static unsigned char small;
static long product = 1;
static double sum;
static float least = 1e9F;
static long captured;
static volatile int data, flag;

int main(void) {
    int threads = 0, seen = 0;
#pragma omp parallel reduction(+ : threads)
    {
        threads += 1;
        for (int i = 0; i < ROUNDS; i++) {
            long mine;
#pragma omp atomic
            count++;
#pragma omp atomic
            small += 3;
#pragma omp atomic
            product ^= (long)i << 20;
#pragma omp atomic
            sum += 0.25;
#ifndef __clang__ // knows it only when asked for OpenMP 5.1
#pragma omp atomic compare
#endif
            least = (float)-i < least ? (float)-i : least;
#pragma omp atomic capture
            mine = captured++;
            if (mine < 0)
                count = -1000000;
#pragma omp atomic write seq_cst
            flag = i;
#pragma omp flush
        }
    }
    flag = 0;
    // The flush that a plain spin needs: message passing.
#pragma omp parallel num_threads(2) reduction(+ : seen)
    if (omp_get_num_threads() == 1 || omp_get_thread_num() == 1) {
        data = 42;
#pragma omp flush
        flag = 1;
#pragma omp flush
        if (omp_get_num_threads() == 1)
            seen += data;
    } else {
        while (flag == 0) {
#pragma omp flush
        }
        seen += data;
    }
    printf("%d %d %ld %g %g %ld %d\n", count == threads * ROUNDS,
           small == (unsigned char)(3 * threads * ROUNDS), threads % 2 ? 0 : product,
           sum / threads, least, captured / threads, seen);
    return 0;
}
