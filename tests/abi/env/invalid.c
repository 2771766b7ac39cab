// fathomp: nodes refused calls fork
// fathomp: threads 2
// A bad value is named once on stderr, and the default is used.
#include "env/again.h"
#include <omp.h>

int main(int argc, char **argv)
{
    static const char *const bad[] = {
        "OMP_NUM_THREADS=many",     "OMP_NUM_THREADS=0",        "OMP_NUM_THREADS=-3",
        "OMP_NUM_THREADS=2x",       "OMP_SCHEDULE=fast",        
        "OMP_SCHEDULE=dynamic,x",   "OMP_DYNAMIC=maybe",        "OMP_PROC_BIND=tight",
        "OMP_PLACES={0",            "OMP_PLACES=nowhere",       "OMP_STACKSIZE=large",
        "OMP_STACKSIZE=10Q",        "OMP_WAIT_POLICY=nervous",  "OMP_MAX_ACTIVE_LEVELS=-1",
        "OMP_MAX_ACTIVE_LEVELS=x",  "OMP_THREAD_LIMIT=0",       "OMP_THREAD_LIMIT=none",
        "OMP_CANCELLATION=perhaps", "OMP_MAX_TASK_PRIORITY=-5", "OMP_NUM_THREADS=99999999999999999999",
        "OMP_DISPLAY_ENV=sure",     "OMP_NUM_THREADS=4,,2",     "OMP_SCHEDULE=monotonic:",
    };
    if (argc > 1 && strcmp(argv[1], "inner") == 0) {
        int members = 0;
#pragma omp parallel reduction(+ : members)
        members++;
        return members >= 1 ? 0 : 1;
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *variables[] = {bad[i], NULL};
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(bad[i], "="), bad[i]);
        int code = again(argv[0], "inner", variables);
        if (code != 0 || !strstr(again_stderr, name) || again_lines() < 1 || again_lines() > 2) {
            fprintf(stderr, "%s: exit %d, said: %s\n", bad[i], code, again_stderr);
            CHECK(!"warned once and went on");
        }
    }
    // Good values are not remarked on.
    static const char *const good[] = {
        "OMP_NUM_THREADS=4", "OMP_SCHEDULE=nonmonotonic:dynamic,3", "OMP_STACKSIZE=2M",
        "OMP_PROC_BIND=true", "OMP_WAIT_POLICY=active", "OMP_PLACES=threads", "OMP_DYNAMIC=false",
        "OMP_NUM_THREADS=2,3,4", "OMP_STACKSIZE= 4096 k ", "GOMP_SPINCOUNT=1000",
        "OMP_MAX_TASK_PRIORITY=7", "OMP_PLACES={0}:1", "OMP_SCHEDULE=auto",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const char *variables[] = {good[i], NULL};
        CHECK_EQ(again(argv[0], "inner", variables), 0);
        if (again_stderr[0]) {
            fprintf(stderr, "%s: %s\n", good[i], again_stderr);
            CHECK(!"said nothing");
        }
    }
    printf("ok\n");
    return check_result();
}
