// The kernel writes into memory that threads have and have not used, by a system
// call that nobody stands in front of.
#include "check.h"
#include <omp.h>
#include <sys/utsname.h>

#define BYTES (1 << 22)
#define STEP 65536

static char shared[BYTES];

/* Calls that failed, into places all over a buffer. */
static int ask_into(char *buffer, int offset)
{
    int failed = 0;
    for (int at = offset; at + (int)sizeof(struct utsname) < BYTES; at += STEP)
        failed += uname((struct utsname *)(buffer + at)) != 0;
    return failed;
}

int main(void)
{
    /* Away from what others read and write: the kernel may not write a page of
     * which there are copies, unless the runtime knows the call. */
    char *block = malloc(STEP + BYTES), *heap = block + STEP;
    CHECK_EQ(ask_into(shared, 77), 0);
    CHECK_EQ(ask_into(heap, 77), 0);
    /* Every thread's part becomes its own, and a part of its neighbour's is read. */
    long sum = 0;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < BYTES; i += 64)
        shared[i] = 1;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int i = BYTES - 64; i >= 0; i -= 64)
        sum += shared[i];
    CHECK_EQ(sum, BYTES / 64);
    CHECK_EQ(ask_into(heap, 3000), 0);
    int failed = 0;
#pragma omp parallel reduction(+ : failed)
    {
        struct utsname own[16];
        for (int i = 0; i < 16; i++)
            failed += uname(&own[i]) != 0;
    }
    CHECK_EQ(failed, 0);
    free(block);
    printf("ok\n");
    return check_result();
}
