// Regions of every kind, the same on every runtime: what is counted does not depend on who is
// faster. Compiled by gcc and clang.
#include <omp.h>
#include <stdio.h>

static long sum;

static void add(long what)
{
#pragma omp critical
    sum += what;
}

static void loops(void)
{
#pragma omp parallel num_threads(3)
    {
        for (int times = 0; times < 4; times++) {
#pragma omp barrier
        }
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 30; i++)
            add(i);
    }
}

static void combined(void)
{
#pragma omp parallel for num_threads(2) schedule(dynamic)
    for (int i = 0; i < 10; i++)
        add(i);
}

static void sections(void)
{
#pragma omp parallel sections num_threads(2)
    {
        add(1);
#pragma omp section
        add(2);
#pragma omp section
        add(3);
    }
}

static void tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp master
    {
        for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i)
            add(i);
        }
#pragma omp taskwait
    }
}

static void nested(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        add(1);
    }
}

static void locks(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 5; i++) {
        omp_set_lock(&lock);
        sum++;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
}

static void alone(void)
{
#pragma omp parallel num_threads(1)
    add(1);
}

int main(void)
{
    omp_set_max_active_levels(2);
    for (int times = 0; times < 3; times++) {
        loops();
        combined();
        sections();
        tasks();
        nested();
        locks();
        alone();
    }
    printf("%ld\n", sum);
    return sum == 3 * (435 + 45 + 6 + 28 + 4 + 10 + 1) ? 0 : 1;
}
