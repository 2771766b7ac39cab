// Static constructors and destructors that use OpenMP, and std::thread.
#include "check.h"
#include <omp.h>
#include <thread>
#include <vector>

static int team()
{
    int members = 0;
#pragma omp parallel reduction(+ : members)
    members++;
    return members;
}

struct Static {
    int size = team();
    ~Static()
    {
        printf("destroyed %d\n", team() == omp_get_max_threads());
        fflush(stdout);
    }
};

static Static object;

int main()
{
    CHECK_EQ(object.size, omp_get_max_threads());
    static int once = team();
    CHECK_EQ(once, omp_get_max_threads());
    std::vector<std::thread> threads;
    int total = 0;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] { __atomic_add_fetch(&total, team(), __ATOMIC_SEQ_CST); });
    for (auto &t : threads)
        t.join();
    CHECK_EQ(total, 4 * omp_get_max_threads());
    printf("main\n");
    return check_result();
}
