// fathomp: nodes skipped counts with atomic instructions for minutes
// fathomp: timeout 60
// A long random walk through the constructs, the same for all threads of a
// team; every step's result is known. The seed is printed when a step fails.
#include "check.h"
#include <omp.h>

static unsigned seed;

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static long loop_sum, singles, section_sum, critical_sum, task_sum, ordered_at, reduced;
static int chain;

static void step(unsigned kind, int n)
{
    switch (kind) {
    case 0:
#pragma omp for schedule(dynamic, 2) nowait
        for (int i = 0; i < n; i++)
            __atomic_add_fetch(&loop_sum, i, __ATOMIC_RELAXED);
        break;
    case 1:
#pragma omp for schedule(guided)
        for (int i = n; i > 0; i--)
            __atomic_add_fetch(&loop_sum, i, __ATOMIC_RELAXED);
        break;
    case 2:
#pragma omp for schedule(static, 3) nowait
        for (int i = 0; i < n; i++)
            __atomic_add_fetch(&loop_sum, 1, __ATOMIC_RELAXED);
        break;
    case 3:
#pragma omp single nowait
        __atomic_add_fetch(&singles, 1, __ATOMIC_RELAXED);
        break;
    case 4: {
        int copy = 0;
#pragma omp single copyprivate(copy)
        {
            __atomic_add_fetch(&singles, 1, __ATOMIC_RELAXED);
            copy = n;
        }
        CHECK_EQ(copy, n);
        break;
    }
    case 5:
#pragma omp sections nowait
        {
#pragma omp section
            __atomic_add_fetch(&section_sum, 1, __ATOMIC_RELAXED);
#pragma omp section
            __atomic_add_fetch(&section_sum, 10, __ATOMIC_RELAXED);
#pragma omp section
            __atomic_add_fetch(&section_sum, 100, __ATOMIC_RELAXED);
        }
        break;
    case 6:
#pragma omp critical
        critical_sum++;
        break;
    case 7: {
#pragma omp barrier
        break;
    }
    case 8:
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < n; i++) {
#pragma omp ordered
            ordered_at++;
        }
        break;
    case 9:
        for (int i = 0; i < 3; i++) {
#pragma omp task
            __atomic_add_fetch(&task_sum, 1, __ATOMIC_RELAXED);
        }
        break;
    case 10: {
        long before = 0;
#pragma omp taskgroup
        for (int i = 0; i < 4; i++) {
#pragma omp task shared(before)
            __atomic_add_fetch(&before, 1, __ATOMIC_RELAXED);
        }
        CHECK_EQ(before, 4);
        break;
    }
    case 11: {
        long mine = 0;
#pragma omp task shared(mine)
        mine = n;
#pragma omp taskwait
        CHECK_EQ(mine, n);
        break;
    }
    case 12:
#pragma omp single
        for (int i = 0; i < 5; i++) {
#pragma omp task depend(inout : chain)
            chain++;
        }
        break;
    case 13:
#pragma omp for reduction(+ : reduced)
        for (int i = 0; i < n; i++)
            reduced += i;
        break;
    case 14:
#pragma omp single
        {
#pragma omp taskloop grainsize(2)
            for (int i = 0; i < n; i++)
                __atomic_add_fetch(&task_sum, 1, __ATOMIC_RELAXED);
        }
        break;
    default:
#pragma omp parallel num_threads(2) if (n % 3 == 0)
        __atomic_add_fetch(&task_sum, 2 / omp_get_num_threads(), __ATOMIC_RELAXED);
        break;
    }
}

int main(void)
{
    omp_set_max_active_levels(2);
    for (int walk = 0; walk < 25; walk++) {
        seed = 1000u + (unsigned)walk;
        int team = 1 + (int)(seed % (unsigned)omp_get_max_threads());
        loop_sum = singles = section_sum = critical_sum = task_sum = ordered_at = reduced = 0;
        chain = 0;
        long w_loop = 0, w_single = 0, w_section = 0, w_critical = 0, w_task = 0, w_ordered = 0, w_reduced = 0;
        int w_chain = 0, steps = 150;
        unsigned state = seed;
        for (int s = 0; s < steps; s++) {
            unsigned kind = next_random(&state) % 16;
            long n = (long)(next_random(&state) % 40);
            switch (kind) {
            case 0: w_loop += n * (n - 1) / 2; break;
            case 1: w_loop += n * (n + 1) / 2; break;
            case 2: w_loop += n; break;
            case 3: case 4: w_single++; break;
            case 5: w_section += 111; break;
            case 6: w_critical += team; break;
            case 8: w_ordered += n; break;
            case 9: w_task += 3 * team; break;
            case 12: w_chain += 5; break;
            case 13: w_reduced += n * (n - 1) / 2; break;
            case 14: w_task += n; break;
            case 15: w_task += 2 * team; break;
            default: break;
            }
        }
#pragma omp parallel num_threads(team)
        {
            unsigned mine = seed;
            for (int s = 0; s < steps; s++) {
                unsigned kind = next_random(&mine) % 16;
                step(kind, (int)(next_random(&mine) % 40));
            }
        }
        int before = check_failures;
        CHECK_EQ(loop_sum, w_loop);
        CHECK_EQ(singles, w_single);
        CHECK_EQ(section_sum, w_section);
        CHECK_EQ(critical_sum, w_critical);
        CHECK_EQ(task_sum, w_task);
        CHECK_EQ(ordered_at, w_ordered);
        CHECK_EQ(reduced, w_reduced);
        CHECK_EQ(chain, w_chain);
        if (check_failures != before)
            fprintf(stderr, "seed %u, team of %d\n", seed, team);
    }
    printf("ok\n");
    return check_result();
}
