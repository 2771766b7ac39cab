// fathomp: libgomp 12 does not know that firstprivate variables lead to each other (libgomp 15 does)
// A firstprivate allocatable variable, as gfortran 15 hands it over: its descriptor, what that leads
// to, and which word of which entry is the way there. The region has a copy of both.
#include "check.h"
#include <omp.h>

extern void GOMP_target_ext(int, void (*)(void *), size_t, void **, size_t *, unsigned short *, unsigned,
                            void **, void **) __attribute__((weak));

struct descriptor {
    long length;
    int *elements;
};

static int elements[3] = {1, 2, 3};
static struct descriptor original = {3, elements};
static int seen;

static void region(void *data)
{
    struct descriptor *copy = ((void **)data)[0];
    CHECK(copy != &original);
    CHECK(copy->elements != elements);
    for (long i = 0; i < copy->length; i++) {
        seen += copy->elements[i];
        copy->elements[i] = 0;
    }
}

int main(void)
{
    if (!GOMP_target_ext || omp_get_max_threads() < 1)
        return 1;
    enum { FIRSTPRIVATE = 12, ATTACH = 80, ALIGNED_TO_8 = 3 << 8 };
    void *addresses[] = {&original, elements, &addresses[0]};
    size_t sizes[] = {sizeof original, sizeof elements, 1};
    unsigned short kinds[] = {FIRSTPRIVATE | ALIGNED_TO_8, FIRSTPRIVATE | ALIGNED_TO_8, ATTACH};
    void *end = 0;
    GOMP_target_ext(-1, region, 3, addresses, sizes, kinds, 0, 0, &end);
    CHECK_EQ(seen, 6);
    CHECK_EQ(elements[0] + elements[1] + elements[2], 6);
    CHECK(original.elements == elements);
    printf("ok\n");
    return check_result();
}
