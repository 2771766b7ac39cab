//! `pthread_create` and `thrd_create`: threads that the program starts by itself take no
//! part in barriers, so their node has to know of them.

use super::caller::with_caller;
use fathomp_node::{heap, start};
use fathomp_sys::cluster::thread::starts_ours;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

with_caller! {
    /// `int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)`
    fathomp_pthread_create => pthread_create, "r8";
    /// `int thrd_create(thrd_t *, int (*)(void *), void *)`
    fathomp_thrd_create => thrd_create, "rcx";
}

/// A thread begins that is not ours, if the caller is not. What comes through the interposer, which
/// may stand in front of us, is the program's or what we have begun ourselves.
fn tell(caller: usize) {
    let is_ours = || match heap::is_of_interposer(caller) {
        true => starts_ours(),
        false => heap::is_private(caller),
    };
    if let Some(node) = start::node().filter(|_| !is_ours()) {
        node.expect_strangers();
    }
}

/// C's `pthread_create`; what it is given is passed on as it is.
type PthreadCreate =
    unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, *mut c_void) -> c_int;

extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    run: *mut c_void,
    argument: *mut c_void,
    caller: usize,
) -> c_int {
    tell(caller);
    let Some(next) = real!(c"pthread_create" as PthreadCreate) else {
        return libc::EAGAIN;
    };
    // SAFETY: promised by our caller.
    unsafe { next(thread, attributes, run, argument) }
}

/// C's `thrd_create`.
type ThrdCreate = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void) -> c_int;

extern "C" fn thrd_create(
    thread: *mut c_void,
    run: *mut c_void,
    argument: *mut c_void,
    caller: usize,
) -> c_int {
    /// C's `thrd_error`.
    const ERROR: c_int = 2;
    tell(caller);
    let Some(next) = real!(c"thrd_create" as ThrdCreate) else {
        return ERROR;
    };
    // SAFETY: promised by our caller.
    unsafe { next(thread, run, argument) }
}

/// The program's first thread, as the C library calls it, and its stack.
static FIRST: OnceLock<(usize, Range<usize>)> = OnceLock::new();

/// The program's first thread goes on with another stack than the C library knows of.
pub(super) fn first_runs_on(thread: usize, stack: Range<usize>) {
    let _ = FIRST.set((thread, stack));
}

/// C's `pthread_getattr_np`.
type GetAttributes = unsafe extern "C" fn(usize, *mut libc::pthread_attr_t) -> c_int;

/// As `pthread_getattr_np`.
///
/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_pthread_getattr(
    thread: usize,
    attributes: *mut libc::pthread_attr_t,
) -> c_int {
    let Some(next) = real!(c"pthread_getattr_np" as GetAttributes) else {
        return libc::ENOSYS;
    };
    // SAFETY: promised by our caller.
    let found = unsafe { next(thread, attributes) };
    match FIRST.get().filter(|(first, _)| *first == thread) {
        Some((_, stack)) if found == 0 => {
            let base = std::ptr::with_exposed_provenance_mut(stack.start);
            // SAFETY: attributes that were just filled in, and memory of that size.
            unsafe { libc::pthread_attr_setstack(attributes, base, stack.len()) }
        }
        _ => found,
    }
}
