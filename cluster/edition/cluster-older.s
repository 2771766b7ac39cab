# Functions of the cluster edition under the versions that programs ask for which
# were linked with a C library before 2.34; cluster.map has the present ones.

        .macro  older function, symbol
        .text
        .globl  older_\function
        .type   older_\function, @function
older_\function:
        jmp     \function@PLT
        .size   older_\function, . - older_\function
        .symver older_\function, \symbol
        .endm

        older   fathomp_start_main, __libc_start_main@GLIBC_2.2.5
        older   fathomp_pthread_sigmask, pthread_sigmask@GLIBC_2.2.5
        older   fathomp_pthread_create, pthread_create@GLIBC_2.2.5
        older   fathomp_pthread_getattr, pthread_getattr_np@GLIBC_2.2.5
        older   fathomp_thrd_create, thrd_create@GLIBC_2.28
        older   fathomp_timer_create, timer_create@GLIBC_2.3.3
        older   fathomp_mq_notify, mq_notify@GLIBC_2.3.4

        .section .note.GNU-stack, "", @progbits
