//! Barriers, critical sections, atomic updates, cancellation.

use crate::entry::entry;
use fathomp_omp::sync::{self, Lock};
use fathomp_omp::worksharing::{Cancel, cancel, is_cancelled};
use fathomp_omp::{barrier, current};
use fathomp_sys::call_site::call_site;
use fathomp_trace::state::State;
use std::ffi::c_int;

/// `void GOMP_barrier(void)`. The compiler also ends loops that it divides
/// itself with it.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_barrier() {
    barrier::barrier(current(), State::ExplicitBarrier);
}

/// `bool GOMP_barrier_cancel(void)`: whether the region has been cancelled.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_barrier_cancel() -> bool {
    barrier::cancellable(current(), State::ExplicitBarrier)
}

entry! {
    /// `void GOMP_critical_start(void)`: a critical section without a name.
    GOMP_critical_start => gomp_critical_start;
    /// `void GOMP_critical_name_start(void **pptr)`
    GOMP_critical_name_start => gomp_critical_name_start;
    /// `void GOMP_atomic_start(void)`: an atomic update the processor has no
    /// instruction for.
    GOMP_atomic_start => gomp_atomic_start;
}

extern "C" fn gomp_critical_start() {
    sync::critical().acquire(State::Critical, call_site());
}

/// `word` is the zero-initialised word that the compiler provides for the name, which
/// nothing else uses.
extern "C" fn gomp_critical_name_start(word: *const Lock) {
    let call = call_site();
    // SAFETY: this is the argument of `GOMP_critical_name_start`; zeroed memory is a free
    // lock, and the word is large enough and aligned for one.
    unsafe { &*word }.acquire(State::Critical, call);
}

extern "C" fn gomp_atomic_start() {
    sync::atomic().acquire(State::Critical, call_site());
}

/// `void GOMP_critical_end(void)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_end() {
    sync::critical().release();
}

/// `void GOMP_critical_name_end(void **pptr)`
///
/// # Safety
/// `word` is the one that `GOMP_critical_name_start` was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_name_end(word: *const Lock) {
    // SAFETY: promised by our caller.
    unsafe { &*word }.release();
}

/// `void GOMP_atomic_end(void)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_end() {
    sync::atomic().release();
}

/// What the first argument of the cancellation entry points names: bit 0 the
/// parallel region, bit 1 a loop, bit 2 sections, bit 3 the taskgroup.
fn construct(which: c_int) -> Cancel {
    match which {
        which if which & 6 != 0 => Cancel::Worksharing,
        which if which & 8 != 0 => Cancel::Taskgroup,
        _ => Cancel::Parallel,
    }
}

/// `bool GOMP_cancel(int which, bool do_cancel)`: whether to go to the end of
/// the construct. With a false `if` clause it is only a cancellation point.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_cancel(which: c_int, do_cancel: bool) -> bool {
    let what = construct(which);
    if do_cancel {
        cancel(current(), what)
    } else {
        is_cancelled(current(), what)
    }
}

/// `bool GOMP_cancellation_point(int which)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_cancellation_point(which: c_int) -> bool {
    is_cancelled(current(), construct(which))
}
