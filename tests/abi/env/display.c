// fathomp: nodes refused calls fork
// fathomp: threads 2
// OMP_DISPLAY_ENV and omp_display_env name the ICVs on stderr.
#include "env/again.h"
#include <omp.h>

static void has(const char *text)
{
    if (!strstr(again_stderr, text)) {
        fprintf(stderr, "missing '%s' in:\n%s\n", text, again_stderr);
        CHECK(!"displayed");
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        if (strcmp(argv[1], "call") == 0)
            omp_display_env(0);
        if (strcmp(argv[1], "verbose") == 0)
            omp_display_env(1);
        // LLVM's runtime looks at the environment at the first call.
        return omp_get_level();
    }
    static const char *const names[] = {
        "OPENMP DISPLAY ENVIRONMENT BEGIN", "_OPENMP = '", "OMP_DYNAMIC = 'FALSE'",
        "OMP_NUM_THREADS = '5", "OMP_SCHEDULE = 'GUIDED,3'", "OMP_PROC_BIND = '",
        "OMP_PLACES = '", "OMP_STACKSIZE = '", "OMP_WAIT_POLICY = 'PASSIVE'",
        "OMP_THREAD_LIMIT = '", "OMP_MAX_ACTIVE_LEVELS = '", "OMP_CANCELLATION = 'FALSE'",
        "OMP_DEFAULT_DEVICE = '", "OMP_MAX_TASK_PRIORITY = '", "OMP_DISPLAY_AFFINITY = 'FALSE'",
        "OMP_AFFINITY_FORMAT = '", "OMP_ALLOCATOR = '", "OMP_TARGET_OFFLOAD = '",
        "OPENMP DISPLAY ENVIRONMENT END",
    };
    const char *shown[] = {"OMP_DISPLAY_ENV=true", "OMP_NUM_THREADS=5", "OMP_SCHEDULE=guided,3",
                           "OMP_WAIT_POLICY=passive", NULL};
    CHECK_EQ(again(argv[0], "plain", shown), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        has(names[i]);
    const char *called[] = {"OMP_DISPLAY_ENV=false", "OMP_NUM_THREADS=5", "OMP_SCHEDULE=guided,3",
                            "OMP_WAIT_POLICY=passive", NULL};
    CHECK_EQ(again(argv[0], "call", called), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        has(names[i]);
    CHECK(!strstr(again_stderr, "GOMP_SPINCOUNT"));
    CHECK_EQ(again(argv[0], "verbose", called), 0);
    has("GOMP_SPINCOUNT");
    CHECK_EQ(again(argv[0], "plain", called), 0);
    CHECK_EQ(again_lines(), 0);
    printf("ok\n");
    return check_result();
}
