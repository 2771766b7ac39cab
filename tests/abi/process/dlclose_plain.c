// fathomp: loads plugin
// fathomp: libgomp is unloaded while its threads still run, and they crash
// fathomp: flags -fno-openmp
// The same, with the library closed after each use.
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
        dlclose(plugin);
    }
    printf("ok\n");
    return check_result();
}
