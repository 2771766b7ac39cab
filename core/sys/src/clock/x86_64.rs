//! The time-stamp counter of x86-64.

use core::arch::x86_64::{__cpuid, _rdtsc};

/// Whether the counter runs at a constant rate in all power states
/// ("invariant TSC", CPUID leaf 8000_0007h, EDX bit 8).
pub(super) fn is_constant() -> bool {
    const HIGHEST_EXTENDED_LEAF: u32 = 0x8000_0000;
    const POWER_LEAF: u32 = 0x8000_0007;
    __cpuid(HIGHEST_EXTENDED_LEAF).eax >= POWER_LEAF && __cpuid(POWER_LEAF).edx & (1 << 8) != 0
}

/// The counter. Not ordered with surrounding instructions: a fence would cost
/// more than the few nanoseconds it could correct.
#[inline(always)]
pub(super) fn read() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; a kernel may forbid
    // it to a process (PR_SET_TSC), which no OpenMP program does.
    unsafe { _rdtsc() }
}
