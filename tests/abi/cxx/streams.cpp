// Streams with buffers of their own: lines come in the order that barriers give.
#include <iostream>
#include <omp.h>

int main()
{
    std::ios_base::sync_with_stdio(false);
    std::cout << "begin\n";
    int members = 0;
#pragma omp parallel reduction(+ : members)
    {
        members += 1;
        for (int turn = 0; turn < omp_get_num_threads(); turn++) {
            if (omp_get_thread_num() == turn)
                std::cout << "thread " << turn << '\n';
#pragma omp barrier
        }
    }
    std::cout << members << " threads\n";
}
