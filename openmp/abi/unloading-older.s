# `dlclose` under the version that programs ask for which were linked with a C
# library before 2.34; the maps have the present one.

        .text
        .globl  older_fathomp_dlclose
        .type   older_fathomp_dlclose, @function
older_fathomp_dlclose:
        jmp     fathomp_dlclose@PLT
        .size   older_fathomp_dlclose, . - older_fathomp_dlclose
        .symver older_fathomp_dlclose, dlclose@GLIBC_2.2.5

        .section .note.GNU-stack, "", @progbits
