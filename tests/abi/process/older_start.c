// fathomp: flags -nostartfiles -fno-stack-protector
// A program that was linked with an older C library, which was started by another
// version of __libc_start_main and told it where the constructors are.
#include "check.h"
#include <omp.h>

__asm__(".symver older_start_main, __libc_start_main@GLIBC_2.2.5");
__asm__(".globl _start\n"
        "_start:\n"
        "    xorl %ebp, %ebp\n"
        "    movq %rdx, %r9\n"
        "    popq %rsi\n"
        "    movq %rsp, %rdx\n"
        "    andq $-16, %rsp\n"
        "    pushq %rax\n"
        "    pushq %rsp\n"
        "    leaq construct(%rip), %rcx\n"
        "    xorl %r8d, %r8d\n"
        "    leaq main(%rip), %rdi\n"
        "    call older_start_main@PLT\n"
        "    hlt\n");

static int constructed;
static int seen[1000];

__attribute__((used, visibility("hidden"))) void construct(void)
{
    constructed++;
}

int main(int argc, char **argv)
{
    CHECK(argc == 1 && argv[1] == NULL);
    CHECK_EQ(constructed, 1);
#pragma omp parallel for
    for (int i = 0; i < 1000; i++)
        seen[i] = omp_get_thread_num() + 1;
    for (int i = 0; i < 1000; i++)
        CHECK(seen[i] > 0);
    CHECK_EQ(seen[999], omp_get_max_threads());
    printf("ok\n");
    return check_result();
}
