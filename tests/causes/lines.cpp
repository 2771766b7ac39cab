// Results of each thread in an array on the heap: slots of 8 bytes lie in one line.
#include <iostream>
#include <omp.h>
#include <vector>

struct Tally {
    float hits;
    float misses;
};

int main()
{
    const int threads = omp_get_max_threads();
    Tally *tallies = new Tally[threads]();
    const long all = 300000000;
#pragma omp parallel num_threads(threads)
    {
        volatile Tally &mine = tallies[omp_get_thread_num()];
        const long share = all / omp_get_num_threads();
        for (long i = 0; i < share; i++)
            if (i & 1)
                mine.hits = mine.hits + 0.25f;
            else
                mine.misses = mine.misses + 0.5f;
    }
    double sum = 0;
    for (int i = 0; i < threads; i++)
        sum += tallies[i].hits;
    delete[] tallies;
    std::cout << (sum > 0) << '\n';
}
