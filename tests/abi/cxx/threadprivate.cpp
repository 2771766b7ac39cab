// threadprivate objects with constructors, copyin, and thread_local beside.
#include "check.h"
#include <omp.h>
#include <string>

struct Start {
    int value;
    Start() : value(40) {}
    explicit Start(int v) : value(v) {}
};

// The directive must come before the definition: initialising counts as use.
extern Start plain, given;
extern std::string text;
#pragma omp threadprivate(plain, given, text)
Start plain;
Start given(7);
std::string text = "a string that is too long for the small buffer";
static thread_local int local = 3;

int main()
{
    int good = 0;
#pragma omp parallel reduction(+ : good)
    {
        good += plain.value == 40 && given.value == 7 && text.size() == 46 && local == 3;
        plain.value += omp_get_thread_num();
        text += std::to_string(omp_get_thread_num());
        local = omp_get_thread_num();
    }
    CHECK_EQ(good, omp_get_max_threads());
#pragma omp parallel
    {
        CHECK_EQ(plain.value, 40 + omp_get_thread_num());
        CHECK_EQ(local, omp_get_thread_num());
        CHECK(text.substr(46) == std::to_string(omp_get_thread_num()));
    }
    given.value = 8;
    text = "copied in";
#pragma omp parallel copyin(given, text)
    {
        CHECK_EQ(given.value, 8);
        CHECK(text == "copied in");
    }
    printf("ok\n");
    return check_result();
}
