// fathomp: threads 1 2 8
// Regions in constructors, in atexit handlers and in destructors.
#include "check.h"
#include <omp.h>
#include <unistd.h>

static int early;

static int team(void)
{
    int members = 0;
#pragma omp parallel reduction(+ : members)
    members++;
    return members;
}

__attribute__((constructor)) static void before(void)
{
    early = team();
}

static void late(void)
{
    printf("atexit %d\n", team() == omp_get_max_threads());
}

__attribute__((destructor)) static void last(void)
{
    printf("destructor %d\n", team() == omp_get_max_threads());
    fflush(stdout);
}

int main(void)
{
    CHECK_EQ(early, omp_get_max_threads());
    atexit(late);
    CHECK_EQ(team(), omp_get_max_threads());
    printf("main\n");
    return check_result();
}
