//! Barriers, critical sections, atomic updates, cancellation.

use crate::entry::{entries, watched};
use fathomp_omp::observer::{self, Cancelled, Cancels, Mutex, Wait};
use fathomp_omp::sync::{self, Lock};
use fathomp_omp::team::Member;
use fathomp_omp::worksharing::{self, Cancel, cancel, is_cancelled};
use fathomp_omp::{barrier, current};
use fathomp_sys::call_site::WATCH;
use std::ffi::c_int;

entries! {
    /// `void GOMP_barrier(void)`. The compiler also ends loops that it divides
    /// itself with it.
    fn GOMP_barrier() {
        barrier::barrier(current(), Wait::ExplicitBarrier);
    }
    /// `bool GOMP_barrier_cancel(void)`: whether the region has been cancelled.
    fn GOMP_barrier_cancel() -> bool {
        barrier::cancellable(current(), Wait::ExplicitBarrier)
    }
}

watched! {
    /// `void GOMP_critical_start(void)`: a critical section without a name.
    fn GOMP_critical_start() {
        sync::critical().take(Mutex::Critical);
    }
    /// `void GOMP_critical_name_start(void **pptr)`: the word is the zero-initialised one that the
    /// compiler provides for the name, which nothing else uses.
    fn GOMP_critical_name_start(word: *const Lock) {
        // SAFETY: this is the argument of the entry point; zeroed memory is a free lock, and the
        // word is large enough and aligned for one.
        unsafe { &*word }.take(Mutex::Critical);
    }
    /// `void GOMP_atomic_start(void)`: an atomic update the processor has no
    /// instruction for.
    fn GOMP_atomic_start() {
        sync::atomic().take(Mutex::Atomic);
    }
}

/// Waits for the chunk's turn in an ordered loop.
#[inline]
pub(crate) fn enter_ordered() {
    match WATCH.is_on() {
        true => enter_ordered_watched(),
        false => worksharing::enter_ordered(current()),
    }
}

#[cold]
fn enter_ordered_watched() {
    let member = current();
    observer::mutex(Mutex::Ordered, 0, turns_of(member), || {
        worksharing::enter_ordered(member)
    });
}

/// An ordered region has ended.
#[inline]
pub(crate) fn leave_ordered() {
    match WATCH.is_on() {
        true => leave_ordered_watched(),
        false => worksharing::leave_ordered(current()),
    }
}

#[cold]
fn leave_ordered_watched() {
    let member = current();
    observer::released(Mutex::Ordered, turns_of(member), || {
        worksharing::leave_ordered(member);
        true
    });
}

/// What a tool knows the turns by that members of a team take.
fn turns_of(member: &'static Member) -> u64 {
    std::ptr::from_ref(member.team()).addr() as u64
}

entries! {
    /// `void GOMP_critical_end(void)`
    fn GOMP_critical_end() {
        sync::critical().give(Mutex::Critical);
    }
    /// `void GOMP_critical_name_end(void **pptr)`
    fn GOMP_critical_name_end(word: *const Lock) {
        // SAFETY: this is the argument of `GOMP_critical_name_start` as well.
        unsafe { &*word }.give(Mutex::Critical);
    }
    /// `void GOMP_atomic_end(void)`
    fn GOMP_atomic_end() {
        sync::atomic().give(Mutex::Atomic);
    }
}

/// Whether what the caller is in has been cancelled.
fn point(member: &'static Member, which: c_int) -> bool {
    let cancelled = is_cancelled(member, construct(which));
    if cancelled {
        observer::cancels(member, told(which), Cancels::Detects);
    }
    cancelled
}

/// The same as observers are told it.
fn told(which: c_int) -> Cancelled {
    match which {
        2 => Cancelled::Loop,
        4 => Cancelled::Sections,
        8 => Cancelled::Taskgroup,
        _ => Cancelled::Parallel,
    }
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

entries! {
    /// `bool GOMP_cancel(int which, bool do_cancel)`: whether to go to the end of
    /// the construct. With a false `if` clause it is only a cancellation point.
    fn GOMP_cancel(which: c_int, do_cancel: bool) -> bool {
        let member = current();
        if !do_cancel {
            return point(member, which);
        }
        let cancelled = cancel(member, construct(which));
        if cancelled {
            observer::cancels(member, told(which), Cancels::Activates);
        }
        cancelled
    }
    /// `bool GOMP_cancellation_point(int which)`
    fn GOMP_cancellation_point(which: c_int) -> bool {
        point(current(), which)
    }
}
