// target constructs run on the host.
#include "check.h"
#include <omp.h>

static int order; // only its address matters, to depend clauses

int main(void)
{
    enum { N = 200 };
    int a[N], b[N], sum = 0, flag = 0;
    for (int i = 0; i < N; i++) {
        a[i] = i;
        b[i] = 0;
    }
#pragma omp target map(to : a) map(tofrom : b, flag)
    {
        flag = omp_is_initial_device();
        for (int i = 0; i < N; i++)
            b[i] = a[i] + 1;
    }
    CHECK_EQ(flag, 1);
    CHECK_EQ(b[N - 1], N);
#pragma omp target teams distribute parallel for map(tofrom : b) map(tofrom : sum) reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        b[i] *= 2;
        sum += a[i];
    }
    CHECK_EQ(sum, N * (N - 1) / 2);
    CHECK_EQ(b[10], 22);
#pragma omp target data map(tofrom : b)
    {
#pragma omp target
        b[0] = 77;
#pragma omp target update from(b)
        CHECK_EQ(b[0], 77);
        b[1] = 5;
#pragma omp target update to(b)
#pragma omp target
        b[1]++;
    }
    CHECK_EQ(b[1], 6);
#pragma omp target enter data map(to : a)
#pragma omp target exit data map(from : a)
#pragma omp target if (0) map(tofrom : a)
    a[3] = 33;
    CHECK_EQ(a[3], 33);
    // nowait and depend.
#pragma omp parallel
#pragma omp single
    {
#pragma omp target nowait depend(out : order) map(tofrom : a)
        a[5] = 55;
#pragma omp target nowait depend(in : order) map(tofrom : a)
        a[6] = a[5] + 1;
#pragma omp target update nowait depend(inout : order) from(a)
#pragma omp taskwait
    }
    CHECK_EQ(a[6], 56);
    int given = 9;
#pragma omp target firstprivate(given) map(from : flag) device(0)
    {
        given++;
        flag = given;
    }
    CHECK_EQ(flag, 10);
    CHECK_EQ(given, 9);
    int members = 0;
#pragma omp target parallel map(tofrom : members) num_threads(3)
    {
#pragma omp atomic
        members++;
    }
    CHECK_EQ(members, 3);
    printf("%d\n", sum);
    return check_result();
}
