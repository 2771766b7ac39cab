// fathomp: clang compiles a target region for the host as a part of the function around it
// A target region begins with the settings that the program began with, whatever it has set since.
#include "check.h"
#include <omp.h>

struct settings {
    int dynamic, threads, levels, chunk;
    omp_sched_t schedule;
};

static struct settings now(void)
{
    struct settings s = {.dynamic = omp_get_dynamic(),
                         .threads = omp_get_max_threads(),
                         .levels = omp_get_max_active_levels()};
    omp_get_schedule(&s.schedule, &s.chunk);
    return s;
}

static void check_same(struct settings a, struct settings b)
{
    CHECK_EQ(a.dynamic, b.dynamic);
    CHECK_EQ(a.threads, b.threads);
    CHECK_EQ(a.levels, b.levels);
    CHECK_EQ((int)a.schedule, (int)b.schedule);
    CHECK_EQ(a.chunk, b.chunk);
}

int main(void)
{
    struct settings first = now();
    omp_set_dynamic(1);
    omp_set_max_active_levels(first.levels + 1);
    omp_set_schedule(omp_sched_static, 2);
    omp_set_num_threads(first.threads + 3);
    struct settings changed = now();
    for (int round = 0; round < 2; round++) {
        struct settings inside = changed;
#pragma omp target if (round) map(from : inside)
        {
            inside = now();
            omp_set_dynamic(0);
            omp_set_schedule(omp_sched_dynamic, 4);
            omp_set_num_threads(first.threads + 5);
        }
        check_same(inside, first);
        check_same(now(), changed);
    }
    printf("ok\n");
    return check_result();
}
