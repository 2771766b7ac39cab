//! `sigaction`, `signal` and the signal masks: the signals by which pages are
//! shared stay ours and are never blocked; the program's handlers for them get
//! what we do not want. Its handlers for others do not interrupt us.

use super::world::libc_calls;
use fathomp_node::start;
use fathomp_sys::cluster::deferral;
use fathomp_sys::signal_chain;
use std::ffi::c_int;

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
    // SAFETY: all fields of a sigaction may be zero.
    let mut before = unsafe { std::mem::zeroed() };
    // SAFETY: valid structures.
    let done = unsafe { set_action(signal, new, &raw mut before) };
    if done == 0 {
        if let Some(wanted) = wanted.filter(|wanted| !are_same(wanted, &before)) {
            libc_calls::acted(signal, wanted);
        }
        if let Some(earlier) = earlier {
            *earlier = before;
        }
    }
    done
}

/// Whether two actions do the same.
fn are_same(one: &libc::sigaction, other: &libc::sigaction) -> bool {
    // The C library adds a flag of its own.
    const RESTORER: c_int = 0x0400_0000;
    let blocks = |action: &libc::sigaction, signal| {
        // SAFETY: a valid set and a valid signal.
        unsafe { libc::sigismember(&raw const action.sa_mask, signal) == 1 }
    };
    one.sa_sigaction == other.sa_sigaction
        && one.sa_flags & !RESTORER == other.sa_flags & !RESTORER
        && (1..=64).all(|signal| blocks(one, signal) == blocks(other, signal))
}

/// As `sigaction`, for any caller.
///
/// # Safety
/// As of the C library's function.
unsafe fn set_action(
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
    if start::node().is_some() {
        return deferral::exchange(signal, wanted, earlier);
    }
    type SetAction =
        unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    let Some(next) = real!(c"sigaction" as SetAction) else {
        return -1;
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
    // SAFETY: promised by our caller.
    unsafe { set_handler(signal, handler, libc::SA_RESTART) }
}

/// As `sysv_signal`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_sysv_signal(signal: c_int, handler: usize) -> usize {
    // SAFETY: promised by our caller.
    unsafe { set_handler(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER) }
}

/// As `signal`, with these flags.
///
/// # Safety
/// As of the C library's function.
unsafe fn set_handler(signal: c_int, handler: usize, flags: c_int) -> usize {
    // SAFETY: all fields of a sigaction may be zero.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    // SAFETY: valid structures; the handler is the program's.
    match unsafe { fathomp_sigaction(signal, &raw const new, &raw mut old) } {
        0 => old.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}

/// Signals that a node's own work raises.
const OURS: [c_int; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGTRAP];

/// C's `int sigprocmask(int, const sigset_t *, sigset_t *)`.
type SetMask = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;

/// Changes the mask by the C library's function, without our signals: if one of
/// them were raised while it is blocked, the kernel would end the program.
///
/// # Safety
/// `set` and `old` are null or valid.
unsafe fn set_mask(
    next: Option<SetMask>,
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    let Some(next) = next else {
        return libc::ENOSYS;
    };
    // SAFETY: promised by our caller.
    let Some(mut set) = unsafe { set.as_ref() }.copied() else {
        // SAFETY: promised by our caller.
        return unsafe { next(how, set, old) };
    };
    if how != libc::SIG_UNBLOCK && start::node().is_some() {
        for signal in OURS {
            // SAFETY: a valid set and a valid signal.
            unsafe { libc::sigdelset(&raw mut set, signal) };
        }
    }
    // SAFETY: a valid set; `old` as promised by our caller.
    unsafe { next(how, &raw const set, old) }
}

/// As `pthread_sigmask`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_pthread_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    let next = real!(c"pthread_sigmask" as SetMask);
    // SAFETY: promised by our caller.
    unsafe { set_mask(next, how, set, old) }
}

/// As `sigprocmask`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_sigprocmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    let next = real!(c"sigprocmask" as SetMask);
    // SAFETY: promised by our caller.
    unsafe { set_mask(next, how, set, old) }
}
