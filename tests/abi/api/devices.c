// fathomp: clang leaves routines of devices to a library of its own
// A host without devices.
#include "check.h"
#include <omp.h>

int main(void)
{
    int host = omp_get_initial_device();
    CHECK_EQ(omp_get_num_devices(), 0);
    CHECK_EQ(host, 0);
    CHECK_EQ(omp_is_initial_device(), 1);
    CHECK_EQ(omp_get_device_num(), host);
    CHECK_EQ(omp_get_default_device(), 0);
    char *a = omp_target_alloc(100, host), *b = omp_target_alloc(100, host);
    CHECK(a != NULL && b != NULL);
    if (a && b) {
        memset(a, 7, 100);
        memset(b, 0, 100);
        CHECK_EQ(omp_target_memcpy(b, a, 50, 10, 20, host, host), 0);
        CHECK_EQ(b[9], 0);
        CHECK_EQ(b[10], 7);
        CHECK_EQ(b[59], 7);
        CHECK_EQ(b[60], 0);
        int in[4][5], out[6][7];
        for (int i = 0; i < 20; i++)
            in[i / 5][i % 5] = i;
        memset(out, -1, sizeof out);
        size_t volume[2] = {2, 3}, to[2] = {1, 2}, from[2] = {1, 1}, dto[2] = {6, 7}, dfrom[2] = {4, 5};
        CHECK_EQ(omp_target_memcpy_rect(out, in, sizeof(int), 2, volume, to, from, dto, dfrom, host, host), 0);
        CHECK_EQ(out[1][2], in[1][1]);
        CHECK_EQ(out[2][4], in[2][3]);
        CHECK_EQ(out[0][0], -1);
        CHECK_EQ(out[2][5], -1);
        CHECK_EQ(omp_target_is_present(a, host), 1);
    }
    omp_target_free(a, host);
    omp_target_free(b, host);
    omp_target_free(NULL, host);
    CHECK_EQ(omp_pause_resource(omp_pause_soft, host), 0);
    CHECK_EQ(omp_pause_resource_all(omp_pause_soft), 0);
    // Regions work after a pause.
    int members = 0;
#pragma omp parallel reduction(+ : members)
    members++;
    CHECK_EQ(members, omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
