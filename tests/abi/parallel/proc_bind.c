// fathomp: clang 14 calls the policy primary master
// The proc_bind clause is accepted whatever the places are.
#include "check.h"
#include <omp.h>

int main(void)
{
    int members = 0;
#pragma omp parallel proc_bind(close) reduction(+ : members)
    members++;
#pragma omp parallel proc_bind(spread) reduction(+ : members)
    members++;
#pragma omp parallel proc_bind(primary) reduction(+ : members)
    members++;
#pragma omp parallel proc_bind(master) num_threads(4) reduction(+ : members)
    members++;
    CHECK_EQ(members, 3 * omp_get_max_threads() + 4);
    printf("ok\n");
    return check_result();
}
