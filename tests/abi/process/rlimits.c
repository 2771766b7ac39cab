// A small stack limit, and a region that still runs.
#include "check.h"
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    struct rlimit small = {1 << 20, 1 << 20};
    CHECK_EQ(setrlimit(RLIMIT_STACK, &small), 0);
    int members = 0;
#pragma omp parallel reduction(+ : members)
    {
        volatile char frame[64 * 1024];
        frame[0] = 1;
        members += frame[0];
    }
    CHECK_EQ(members, omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
