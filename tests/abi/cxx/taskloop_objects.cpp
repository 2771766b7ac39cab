// Objects that a taskloop's tasks have of their own: each task copies and destroys its own.
#include "check.h"
#include <atomic>
#include <omp.h>

static std::atomic<int> copies, gone;

struct Counted {
    int value;
    int *self = &value; // leads into the object itself
    explicit Counted(int value = 0) : value(value) {}
    Counted(const Counted &other) : value(other.value) { copies++; }
    Counted &operator=(const Counted &other)
    {
        value = other.value;
        return *this;
    }
    ~Counted()
    {
        CHECK(self == &value);
        gone++;
    }
};

int main()
{
    enum { TASKS = 40 };
    Counted given(7), last;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(1) firstprivate(given)
        for (int i = 0; i < TASKS; i++) {
            CHECK_EQ(given.value, 7);
            CHECK(given.self == &given.value);
            given.value = i;
        }
        CHECK(copies >= TASKS);
        CHECK_EQ(gone, copies);

#pragma omp taskloop grainsize(1) firstprivate(given) lastprivate(last)
        for (int i = 0; i < TASKS; i++)
            last.value = given.value + i;
        CHECK_EQ(last.value, 7 + TASKS - 1);
    }
    printf("ok\n");
    return check_result();
}
