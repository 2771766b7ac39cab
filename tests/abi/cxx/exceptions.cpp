// Exceptions thrown and caught inside regions, loops, tasks and criticals.
#include "check.h"
#include <omp.h>
#include <stdexcept>
#include <string>

int main()
{
    int caught = 0, loops = 0, tasks = 0;
#pragma omp parallel reduction(+ : caught)
    {
        try {
            throw std::runtime_error("from " + std::to_string(omp_get_thread_num()));
        } catch (const std::exception &e) {
            CHECK(e.what() == "from " + std::to_string(omp_get_thread_num()));
            caught++;
        }
    }
    CHECK_EQ(caught, omp_get_max_threads());
#pragma omp parallel for schedule(dynamic) reduction(+ : loops)
    for (int i = 0; i < 100; i++) {
        try {
            if (i % 3 == 0)
                throw i;
        } catch (int value) {
            loops += value == i;
        }
    }
    CHECK_EQ(loops, 34);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task shared(tasks)
        {
            try {
#pragma omp critical
                {
                    try {
                        throw std::string("inner");
                    } catch (const std::string &s) {
#pragma omp atomic
                        tasks += s == "inner";
                    }
                }
                throw 1;
            } catch (...) {
#pragma omp atomic
                tasks++;
            }
        }
    }
    CHECK_EQ(tasks, 200);
    printf("%d %d\n", loops, tasks);
    return check_result();
}
