// Loaded by dlopen.c.
#include <omp.h>

static int kept = 3;
#pragma omp threadprivate(kept)

int plugin_sum(int n)
{
    int sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic)
    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

int plugin_team(void)
{
    int members = 0;
#pragma omp parallel reduction(+ : members)
    {
        kept++;
        members++;
    }
    return members;
}
