//! Where the runtime's frames end on a thread's stack and the program's begin.
//!
//! A first-party tool wants to leave the runtime's frames out of a backtrace, so
//! it is told the frame from which the program's code was called. Code compiled
//! from Rust keeps no frame pointer, so the call is made by a few instructions
//! that do, if somebody [wants to know](wanted_at).

use crate::call_site::{EXIT, platform};
use std::sync::atomic::AtomicU64;

/// The frame from which this thread calls the program's code next is to be
/// stored there.
pub fn wanted_at(place: &'static AtomicU64) {
    platform::store::<EXIT>(place.as_ptr().expose_provenance());
}

/// Where the frame of the next call is wanted, for the function that makes the call
/// and hands the address on to [`call`] or does the same: null if nowhere. The
/// next call asks anew.
#[inline]
#[must_use]
pub fn take_wanted() -> *mut u64 {
    let place = platform::load::<EXIT>();
    if place != 0 {
        platform::store::<EXIT>(0);
    }
    std::ptr::with_exposed_provenance_mut(place)
}

/// Calls `code` with two words, and stores the frame pointer that it finds at `place`.
///
/// # Safety
/// `code` is the address of a function that takes those two words, or the first of them, or none,
/// and may be called with them now; `place` is from [`take_wanted`] and not null.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn call(code: usize, first: usize, second: usize, place: *mut u64) {
    // The stack is aligned again after the frame pointer is saved.
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov qword ptr [rcx], rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call rax",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    static PLACE: AtomicU64 = AtomicU64::new(0);
    static SUM: AtomicU64 = AtomicU64::new(0);

    extern "C" fn code(first: usize, second: usize) {
        SUM.store((first + second) as u64, Ordering::Relaxed);
    }

    #[test]
    fn the_frame_is_told_once() {
        wanted_at(&PLACE);
        let here = 0_u8;
        let place = take_wanted();
        assert!(take_wanted().is_null());
        // SAFETY: a function of two words, and the place is not null.
        unsafe { call(code as *const () as usize, 40, 2, place) };
        assert_eq!(SUM.load(Ordering::Relaxed), 42);
        let frame = PLACE.load(Ordering::Relaxed);
        let stack = std::ptr::from_ref(&here).addr() as u64;
        assert!(
            frame < stack + 4096 && frame + 4096 > stack,
            "{frame:x} {stack:x}"
        );
    }
}
