//! Where the program called us from.
//!
//! Stable Rust cannot ask for a function's return address, so the entry points
//! that name regions and loops leave it in a per-thread word before they jump
//! to their Rust body (see `fathomp-abi`'s `entry`).

/// Last byte of the call that brought this thread through an entry point last:
/// the return address less 1, because the return address itself may belong to
/// the next line. 0 where entry points cannot note it. Ask first thing in the
/// body: the next entry overwrites it.
#[inline]
#[must_use]
pub fn call_site() -> usize {
    platform::load().saturating_sub(1)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod platform {
    use std::arch::{asm, global_asm};

    global_asm!(
        ".section .tbss,\"awT\",@nobits",
        ".balign 8",
        ".globl fathomp_call_site",
        ".hidden fathomp_call_site",
        ".type fathomp_call_site, @object",
        ".size fathomp_call_site, 8",
        "fathomp_call_site:",
        ".zero 8",
        ".text",
    );

    #[inline]
    pub(super) fn load() -> usize {
        let address: usize;
        // SAFETY: reads 8 bytes of this thread's own copy of the symbol
        // defined above.
        unsafe {
            asm!(
                "mov {a}, qword ptr [rip + fathomp_call_site@GOTTPOFF]",
                "mov {a}, qword ptr fs:[{a}]",
                a = out(reg) address,
                options(readonly, nostack, preserves_flags),
            );
        }
        address
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod platform {
    #[inline]
    pub(super) fn load() -> usize {
        0
    }
}
