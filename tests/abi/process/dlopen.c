// fathomp: loads plugin
// fathomp: nodes skipped calls code in a region that only node 0 has loaded
// An OpenMP library loaded, used and unloaded while the program runs.
#include "check.h"
#include <dlfcn.h>
#include <omp.h>

int main(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/plugin.so", getenv("BUILT_PROGRAMS"));
    for (int round = 0; round < 10; round++) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int (*sum)(int) = (int (*)(int))dlsym(plugin, "plugin_sum");
        int (*team)(void) = (int (*)(void))dlsym(plugin, "plugin_team");
        CHECK_EQ(sum(100), 4950);
        CHECK_EQ(team(), omp_get_max_threads());
        int inside = 0;
#pragma omp parallel reduction(+ : inside) num_threads(2)
        inside += sum(10);
        CHECK_EQ(inside, 90);
        dlclose(plugin);
    }
    printf("ok\n");
    return check_result();
}
