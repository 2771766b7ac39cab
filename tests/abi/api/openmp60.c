// fathomp: libgomp 12 has none of these routines (libgomp 16 has, or LLVM's library 22)
// What OpenMP 5.2 and 6.0 and the compilers of their time ask for, by its names: the headers of gcc
// 12 do not declare it.
#include "check.h"
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>

#define WANTED __attribute__((weak))
extern const char *omp_get_uid_from_device(int) WANTED;
extern int omp_get_device_from_uid(const char *) WANTED;
extern void *omp_target_memset(void *, int, size_t, int) WANTED;
extern void *omp_target_memset_async(void *, int, size_t, int, int, void *) WANTED;
extern uintptr_t omp_get_device_memspace(int, uintptr_t) WANTED;
extern uintptr_t omp_get_devices_allocator(int, const int *, uintptr_t) WANTED;
extern int omp_get_memspace_num_resources(uintptr_t) WANTED;
extern uintptr_t omp_get_submemspace(uintptr_t, int, const int *) WANTED;
extern void GOMP_add_alloc(void *) WANTED;
extern bool GOMP_is_alloc(void *) WANTED;
extern void *GOMP_target_map_indirect_ptr(void *) WANTED;
extern void GOMP_interop(int, int, void ***, const void *, const void *, int, void ***, int, void ***,
                         unsigned, void **) WANTED;

static void device_names(void)
{
    const char *name = omp_get_uid_from_device(omp_get_initial_device());
    CHECK(name != 0);
    int device = omp_get_device_from_uid(name);
    CHECK(device == -1 || device == omp_get_initial_device());
    CHECK(omp_get_uid_from_device(17) == 0);
    CHECK(omp_get_device_from_uid("nobody") < -1);
}

static void memory(void)
{
    char bytes[100];
    CHECK(omp_target_memset(bytes, 7, sizeof bytes, omp_get_initial_device()) == bytes);
    CHECK_EQ(bytes[99], 7);
    omp_target_memset_async(bytes, 8, 50, omp_get_initial_device(), 0, 0);
    CHECK_EQ(bytes[49] + bytes[50], 15);

    int host = omp_get_initial_device(), nobody = 17;
    uintptr_t space = 3; // high bandwidth
    CHECK_EQ(omp_get_device_memspace(host, space), space);
    CHECK_EQ(omp_get_device_memspace(nobody, space), 0);
    CHECK_EQ(omp_get_devices_allocator(1, &host, space), 4);
    CHECK_EQ(omp_get_devices_allocator(1, &nobody, space), 0);
    CHECK_EQ(omp_get_memspace_num_resources(space), 1);
    CHECK_EQ(omp_get_submemspace(space, 1, &host), space);
    CHECK_EQ(omp_get_submemspace(space, 1, &nobody), 0);

    // The number that clang 20 has for the default space.
    omp_allocator_handle_t allocator = omp_init_allocator((omp_memspace_handle_t)99, 0, 0);
    CHECK(allocator != omp_null_allocator);
    void *block = omp_alloc(1000, allocator);
    CHECK(block != 0);
    omp_free(block, allocator);
    omp_destroy_allocator(allocator);
}

static void of_compilers(void)
{
    int here, there;
    GOMP_add_alloc(&here);
    CHECK(!GOMP_is_alloc(&there));
    CHECK(GOMP_is_alloc(&here));
    CHECK(!GOMP_is_alloc(&here));
    CHECK(GOMP_target_map_indirect_ptr(&here) == &here);

    void *one = &here, *two = &there, *kept = &there;
    void **init[] = {&one}, **used[] = {&kept}, **destroyed[] = {&two};
    GOMP_interop(-5, 1, init, 0, 0, 1, used, 1, destroyed, 0, 0);
    CHECK(one == 0 && two == 0 && kept == &there);
}

int main(void)
{
    if (!GOMP_interop || !omp_get_submemspace) {
        printf("not there\n");
        return 1;
    }
    device_names();
    memory();
    of_compilers();
    printf("ok\n");
    return check_result();
}
