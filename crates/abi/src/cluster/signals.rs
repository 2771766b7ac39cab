//! `sigaction` and `signal`: the signals by which pages are shared stay ours;
//! the program's handlers for them get what we do not want.

use super::next::Next;
use fathomp_sys::signal_chain;
use std::ffi::{c_int, c_void};

static SIGACTION: Next = Next::new(c"sigaction");

/// As `sigaction`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: promised by our caller: null or valid structures.
    let (wanted, earlier) = unsafe { (new.as_ref(), old.as_mut()) };
    if let Some(present) = signal_chain::exchange_program_action(signal, wanted) {
        if let Some(earlier) = earlier {
            *earlier = present;
        }
        return 0;
    }
    let next = SIGACTION.address();
    if next.is_null() {
        return -1;
    }
    // SAFETY: the C library's function of this name has this type.
    let next = unsafe {
        std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int,
        >(next)
    };
    // SAFETY: promised by our caller.
    unsafe { next(signal, new, old) }
}

/// As `signal`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: all fields of a sigaction may be zero.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: valid structures; the handler is the program's.
    match unsafe { fathomp_sigaction(signal, &raw const new, &raw mut old) } {
        0 => old.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}
