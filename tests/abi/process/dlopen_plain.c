// fathomp: loads plugin
// fathomp: flags -fno-openmp
// A program without OpenMP that loads an OpenMP library, as interpreters do.
#include "check.h"
#include <dlfcn.h>

int main(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/plugin.so", getenv("BUILT_PROGRAMS"));
    for (int round = 0; round < 3; round++) {
        void *plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int (*sum)(int) = (int (*)(int))dlsym(plugin, "plugin_sum");
        CHECK_EQ(sum(1000), 499500);
    }
    printf("ok\n");
    return check_result();
}
