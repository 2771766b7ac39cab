//! Which function is the code of the region that a thread asks for, which OMPT does not tell.

use std::arch::{asm, global_asm};

// The function of the region that the thread asks for, 0 if it asks for none.
global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl fathomp_forked_function",
    ".hidden fathomp_forked_function",
    ".type fathomp_forked_function, @object",
    ".size fathomp_forked_function, 8",
    "fathomp_forked_function:",
    ".zero 8",
    ".text",
);

/// The thread asks for a region with that code.
#[inline]
pub(crate) fn forks(function: usize) {
    // SAFETY: writes 8 bytes of this thread's own copy of the symbol defined above.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + fathomp_forked_function@GOTTPOFF]",
            "mov qword ptr fs:[{at}], {function}",
            at = out(reg) _,
            function = in(reg) function,
            options(nostack, preserves_flags),
        );
    }
}

/// The code of the region that the thread has asked for, which is asked once.
#[inline]
pub(crate) fn forked() -> usize {
    let function: usize;
    // SAFETY: reads 8 bytes of this thread's own copy of the symbol defined above.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + fathomp_forked_function@GOTTPOFF]",
            "mov {function}, qword ptr fs:[{at}]",
            at = out(reg) _,
            function = out(reg) function,
            options(readonly, nostack, preserves_flags),
        );
    }
    forks(0);
    function
}
