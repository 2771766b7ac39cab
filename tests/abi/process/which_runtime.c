// Every entry point comes from one and the same library.
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <omp.h>

int main(void)
{
    static const char *const names[] = {
        "GOMP_parallel", "GOMP_barrier", "GOMP_task", "GOMP_taskwait", "GOMP_single_start",
        "GOMP_critical_start", "GOMP_loop_nonmonotonic_dynamic_start", "GOMP_sections_start",
        "GOMP_ordered_start", "GOMP_doacross_post", "GOMP_taskloop", "GOMP_target_ext",
        "GOMP_teams_reg", "GOMP_atomic_start", "GOMP_cancel", "omp_get_thread_num",
        "omp_set_lock", "omp_get_wtime", "omp_alloc", "omp_get_thread_num_", "omp_display_env",
        "omp_get_place_num", "omp_fulfill_event", "GOMP_alloc", "GOMP_scope_start",
    };
    void *home = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Dl_info info;
        void *symbol = dlsym(RTLD_DEFAULT, names[i]);
        if (!symbol || !dladdr(symbol, &info)) {
            fprintf(stderr, "%s is missing\n", names[i]);
            CHECK(!"present");
            continue;
        }
        if (!home)
            home = info.dli_fbase;
        if (info.dli_fbase != home) {
            fprintf(stderr, "%s comes from %s\n", names[i], info.dli_fname);
            CHECK(!"from the same library");
        }
    }
#pragma omp parallel
    CHECK(omp_get_thread_num() >= 0);
    printf("ok\n");
    return check_result();
}
