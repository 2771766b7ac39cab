# A thread-local variable of the cluster edition that begins a page. The loader then
# lays out the thread-local variables of every thread so that they end where a page
# does: those of the initial thread, which nodes share, are whole pages, and what the
# loader and the C library keep for themselves lies in others.
# Linked first, so that its section begins the library's: that keeps the rest small.

        .section .tdata.fathomp, "awT", @progbits
        .globl  fathomp_begins_a_page
        .hidden fathomp_begins_a_page
        .type   fathomp_begins_a_page, @object
        .size   fathomp_begins_a_page, 8
        .balign 4096
fathomp_begins_a_page:
        .quad   0

        .section .note.GNU-stack, "", @progbits
