// Tasks that wait for tasks.
#include <omp.h>
#include <stdio.h>

static int running;

static int fibonacci(int n) {
    if (n < 2) return n;
    int a, b;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void) {
    int result = 0;
#pragma omp parallel
    {
#pragma omp single
        result = fibonacci(20);
#pragma omp single
        {
            // The other thread takes one of two tasks, which both run at a time and of which
            // its is the longer: this one has to wait for it.
            int other = !omp_get_thread_num();
            for (int i = 0; i < 2; i++) {
#pragma omp task firstprivate(other)
                {
                    double end = omp_get_wtime() + 1;
                    int both = 0;
#pragma omp atomic update seq_cst
                    running++;
                    while (both < 2 && omp_get_wtime() < end) {
#pragma omp atomic read seq_cst
                        both = running;
                    }
                    end = omp_get_wtime() + 5e-3;
                    while (omp_get_thread_num() == other && omp_get_wtime() < end) {
                    }
                }
            }
#pragma omp taskwait
        }
    }
    printf("%d\n", result);
    return 0;
}
