// More threads than processors, although each team has a modest size.
// threads N: so many threads of the program run teams at the same time;
// nested N:  each thread of a team of N starts a team of its own.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <omp.h>
#include <thread>
#include <vector>

static double relax(const std::vector<double> &start)
{
    double sum = 0;
    const int n = static_cast<int>(start.size());
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        double x = start[i];
        for (int k = 0; k < 4000; k++)
            x = 0.5 * (x + 2.0 / (x + 1.0));
        sum += x;
    }
    return sum;
}

static double campaign(int seed)
{
    std::vector<double> start(150, 1.0 + seed);
    double sum = 0;
    for (int round = 0; round < 12; round++)
        sum += relax(start);
    return sum;
}

int main(int argc, char **argv)
{
    const bool nested = argc > 1 && std::strcmp(argv[1], "nested") == 0;
    const int outer = argc > 2 ? std::atoi(argv[2]) : 4;
    std::vector<double> results(outer);
    if (nested) {
        omp_set_max_active_levels(2);
#pragma omp parallel num_threads(outer)
        results[omp_get_thread_num()] = campaign(omp_get_thread_num());
    } else {
        std::vector<std::thread> threads;
        for (int i = 0; i < outer; i++)
            threads.emplace_back([&results, i] { results[i] = campaign(i); });
        for (auto &thread : threads)
            thread.join();
    }
    double sum = 0;
    for (double one : results)
        sum += one;
    std::cout << sum << '\n';
}
