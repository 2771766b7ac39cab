// Task reductions over worksharing loops, with every schedule.
#include "check.h"
#include <omp.h>

#define LOOP(clause)                                                   \
    do {                                                               \
        long sum = 0;                                                  \
        double product = 1.0;                                          \
        _Pragma("omp parallel")                                        \
        {                                                              \
            _Pragma(clause)                                            \
            for (int i = 0; i < 40; i++) {                             \
                _Pragma("omp task in_reduction(+ : sum)")              \
                sum += i;                                              \
                _Pragma("omp task in_reduction(* : product)")          \
                product *= i % 10 ? 1.0 : 2.0;                         \
                sum += 1;                                              \
            }                                                          \
        }                                                              \
        CHECK_EQ(sum, 780 + 40);                                       \
        CHECK(product == 16.0);                                        \
    } while (0)

int main(void)
{
    LOOP("omp for reduction(task, + : sum) reduction(task, * : product)");
    LOOP("omp for schedule(static, 2) reduction(task, + : sum) reduction(task, * : product)");
    LOOP("omp for schedule(dynamic) reduction(task, + : sum) reduction(task, * : product)");
    LOOP("omp for schedule(guided, 2) reduction(task, + : sum) reduction(task, * : product)");
    LOOP("omp for schedule(runtime) reduction(task, + : sum) reduction(task, * : product)");
    LOOP("omp for schedule(auto) reduction(task, + : sum) reduction(task, * : product)");
    printf("ok\n");
    return check_result();
}
