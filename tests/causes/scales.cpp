// Blocks of equal work as tasks, many for each thread: nothing to blame.
#include <array>
#include <iostream>

int main()
{
    static std::array<double, 256> results;
#pragma omp parallel
#pragma omp single
    for (int block = 0; block < 256; block++) {
#pragma omp task firstprivate(block)
        {
            double x = block;
            for (int k = 0; k < 2000000; k++)
                x = x * 0.99 + 0.5;
            results[block] = x;
        }
    }
    double sum = 0;
    for (double one : results)
        sum += one;
    std::cout << sum << '\n';
}
