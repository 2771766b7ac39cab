// task_reduction on taskgroups, in_reduction on tasks, nested and user-defined.
#include "check.h"
#include <omp.h>

struct pair {
    long a, b;
};

#pragma omp declare reduction(add : struct pair : omp_out.a += omp_in.a, omp_out.b += omp_in.b) \
    initializer(omp_priv = (struct pair){0, 0})

int main(void)
{
    long sum = 3, array[5] = {0};
    struct pair pair = {1, 1};
    int most = -1;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum, array) task_reduction(add : pair) task_reduction(max : most)
        {
            for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : sum, array) in_reduction(add : pair) in_reduction(max : most)
                {
                    sum += i;
                    array[i % 5] += 1;
                    pair.a += 1;
                    pair.b += 2;
                    most = most > i ? most : i;
                    // A child takes part as well.
#pragma omp task in_reduction(+ : sum)
                    sum += 1;
                }
            }
#pragma omp taskgroup task_reduction(+ : sum)
            {
#pragma omp task in_reduction(+ : sum)
                sum += 1000;
            }
        }
        CHECK_EQ(sum, 3 + 4950 + 100 + 1000);
        for (int i = 0; i < 5; i++)
            CHECK_EQ(array[i], 20);
        CHECK_EQ(pair.a, 101);
        CHECK_EQ(pair.b, 201);
        CHECK_EQ(most, 99);
    }
    // Every thread with a group of its own.
    long all = 0;
#pragma omp parallel reduction(+ : all)
    {
        long mine = 0;
#pragma omp taskgroup task_reduction(+ : mine)
        for (int i = 0; i < 30; i++) {
#pragma omp task in_reduction(+ : mine)
            mine += i;
        }
        CHECK_EQ(mine, 435);
        all += mine;
    }
    CHECK_EQ(all, 435L * omp_get_max_threads());
    printf("%ld\n", sum);
    return check_result();
}
