//! Worksharing loops: a thread asks for its first iterations, then for more until there are none.

use super::watched::watched;
use crate::front::{front, front_with_call_site, real};
use crate::seen::{self, Loop, Thread};
use fathomp_trace::foreign_recorder::Unseen;
use fathomp_trace::record::LoopKind;
use fathomp_trace::state::State;
use std::ffi::{c_int, c_long, c_uint, c_ulonglong, c_void};

/// The schedule that the program or the environment has chosen for loops of `schedule(runtime)`,
/// and its chunk size.
pub(super) fn of_run_time() -> (LoopKind, c_long) {
    let (mut kind, mut chunk) = (0_u32, 0_i32);
    let ask = real!(omp_get_schedule: unsafe extern "C" fn(*mut c_uint, *mut c_int));
    // SAFETY: both words are there.
    unsafe { ask(&raw mut kind, &raw mut chunk) };
    let chunk = c_long::from(chunk.max(0));
    (kind_of(kind), chunk)
}

/// A schedule by its number in `omp_sched_t`, which libgomp's own calls use, too.
fn kind_of(number: c_uint) -> LoopKind {
    match number & 0x7fff_ffff {
        2 => LoopKind::Dynamic,
        3 => LoopKind::Guided,
        _ => LoopKind::Static,
    }
}

/// A loop that begins by `begin`, which returns whether there are iterations for the thread.
///
/// # Safety
/// If there are, and the places are not null, `begin` has written to them.
unsafe fn begun<T: Copy>(
    wanted: impl FnOnce() -> Loop,
    places: [*mut T; 2],
    signed: fn(T) -> i64,
    begin: impl FnOnce() -> bool,
) -> bool {
    let Some(thread) = watched() else {
        return begin();
    };
    thread.loop_begins(&wanted());
    let any = thread.asks_for_iterations(begin);
    // Without places no iterations are asked for yet.
    if places[0].is_null() {
        return any;
    }
    // SAFETY: promised by our caller.
    unsafe { dealt(thread, any, places, signed) };
    any
}

/// More iterations by `more`, which returns whether there are any.
///
/// # Safety
/// As of [`begun`].
unsafe fn next_ones<T: Copy>(
    places: [*mut T; 2],
    signed: fn(T) -> i64,
    more: impl FnOnce() -> bool,
) -> bool {
    let Some(thread) = watched() else {
        return more();
    };
    let any = thread.asks_for_iterations(more);
    // SAFETY: promised by our caller.
    unsafe { dealt(thread, any, places, signed) };
    any
}

/// # Safety
/// As of [`begun`].
unsafe fn dealt<T: Copy>(thread: &Thread, any: bool, places: [*mut T; 2], signed: fn(T) -> i64) {
    if any {
        // SAFETY: promised by our caller.
        let [first, end] = places.map(|place| signed(unsafe { place.read() }));
        thread.chunk(first, end);
    } else {
        thread.loop_ends();
    }
}

fn signed(value: c_long) -> i64 {
    value
}

fn signed_of_unsigned(value: c_ulonglong) -> i64 {
    value.cast_signed()
}

/// Loops over signed numbers with a chunk size.
macro_rules! start {
    ($($name:ident: $kind:ident, $ordered:literal;)+) => {
        front_with_call_site! { $(
            /// A thread meets a loop.
            fn $name(
                from: c_long, to: c_long, step: c_long, chunk: c_long,
                first: *mut c_long, end: *mut c_long
            ) -> bool |next, call| {
                let wanted = || Loop {
                    kind: LoopKind::$kind, ordered: $ordered,
                    chunk: u64::try_from(chunk).unwrap_or(0), step, call,
                };
                // SAFETY: promised by our caller.
                unsafe {
                    begun(wanted, [first, end], signed, || next(from, to, step, chunk, first, end))
                }
            }
        )+ }
    };
}

start! {
    GOMP_loop_static_start: Static, false;
    GOMP_loop_dynamic_start: Dynamic, false;
    GOMP_loop_guided_start: Guided, false;
    GOMP_loop_nonmonotonic_dynamic_start: Dynamic, false;
    GOMP_loop_nonmonotonic_guided_start: Guided, false;
    GOMP_loop_ordered_static_start: Static, true;
    GOMP_loop_ordered_dynamic_start: Dynamic, true;
    GOMP_loop_ordered_guided_start: Guided, true;
}

/// The same with the schedule of the environment.
macro_rules! start_of_run_time {
    ($($name:ident: $ordered:literal;)+) => {
        front_with_call_site! { $(
            /// A thread meets a loop.
            fn $name(
                from: c_long, to: c_long, step: c_long, first: *mut c_long, end: *mut c_long
            ) -> bool |next, call| {
                let wanted = || {
                    let (kind, chunk) = of_run_time();
                    let chunk = u64::try_from(chunk).unwrap_or(0);
                    Loop { kind, ordered: $ordered, chunk, step, call }
                };
                // SAFETY: promised by our caller.
                unsafe {
                    begun(wanted, [first, end], signed, || next(from, to, step, first, end))
                }
            }
        )+ }
    };
}

start_of_run_time! {
    GOMP_loop_runtime_start: false;
    GOMP_loop_nonmonotonic_runtime_start: false;
    GOMP_loop_maybe_nonmonotonic_runtime_start: false;
    GOMP_loop_ordered_runtime_start: true;
}

/// Loops with reductions of tasks, or with memory of their own.
macro_rules! start_with_memory {
    ($($name:ident: $ordered:literal;)+) => {
        front_with_call_site! { $(
            /// A thread meets a loop.
            fn $name(
                from: c_long, to: c_long, step: c_long, schedule: c_long, chunk: c_long,
                first: *mut c_long, end: *mut c_long,
                reductions: *mut c_void, memory: *mut c_void
            ) -> bool |next, call| {
                let wanted = || Loop {
                    kind: kind_of(schedule as c_uint), ordered: $ordered,
                    chunk: u64::try_from(chunk).unwrap_or(0), step, call,
                };
                // SAFETY: promised by our caller.
                unsafe {
                    begun(wanted, [first, end], signed, || {
                        next(from, to, step, schedule, chunk, first, end, reductions, memory)
                    })
                }
            }
        )+ }
    };
}

start_with_memory! {
    GOMP_loop_start: false;
    GOMP_loop_ordered_start: true;
}

/// More iterations of loops over signed numbers.
macro_rules! more {
    ($($name:ident)+) => {
        front! { $(
            /// A thread wants more iterations.
            fn $name(first: *mut c_long, end: *mut c_long) -> bool |next| {
                // SAFETY: promised by our caller.
                unsafe { next_ones([first, end], signed, || next(first, end)) }
            }
        )+ }
    };
}

more! {
    GOMP_loop_static_next GOMP_loop_dynamic_next GOMP_loop_guided_next GOMP_loop_runtime_next
    GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_nonmonotonic_guided_next
    GOMP_loop_nonmonotonic_runtime_next GOMP_loop_maybe_nonmonotonic_runtime_next
    GOMP_loop_ordered_static_next GOMP_loop_ordered_dynamic_next GOMP_loop_ordered_guided_next
    GOMP_loop_ordered_runtime_next
}

/// Loops over unsigned numbers with a chunk size.
macro_rules! start_unsigned {
    ($($name:ident: $kind:ident, $ordered:literal;)+) => {
        front_with_call_site! { $(
            /// A thread meets a loop.
            fn $name(
                up: bool, from: c_ulonglong, to: c_ulonglong, step: c_ulonglong,
                chunk: c_ulonglong, first: *mut c_ulonglong, end: *mut c_ulonglong
            ) -> bool |next, call| {
                let wanted = || Loop {
                    kind: LoopKind::$kind, ordered: $ordered, chunk,
                    step: step.cast_signed(), call,
                };
                // SAFETY: promised by our caller.
                unsafe {
                    begun(wanted, [first, end], signed_of_unsigned, || {
                        next(up, from, to, step, chunk, first, end)
                    })
                }
            }
        )+ }
    };
}

start_unsigned! {
    GOMP_loop_ull_static_start: Static, false;
    GOMP_loop_ull_dynamic_start: Dynamic, false;
    GOMP_loop_ull_guided_start: Guided, false;
    GOMP_loop_ull_nonmonotonic_dynamic_start: Dynamic, false;
    GOMP_loop_ull_nonmonotonic_guided_start: Guided, false;
    GOMP_loop_ull_ordered_static_start: Static, true;
    GOMP_loop_ull_ordered_dynamic_start: Dynamic, true;
    GOMP_loop_ull_ordered_guided_start: Guided, true;
}

/// The same with the schedule of the environment.
macro_rules! start_unsigned_of_run_time {
    ($($name:ident: $ordered:literal;)+) => {
        front_with_call_site! { $(
            /// A thread meets a loop.
            fn $name(
                up: bool, from: c_ulonglong, to: c_ulonglong, step: c_ulonglong,
                first: *mut c_ulonglong, end: *mut c_ulonglong
            ) -> bool |next, call| {
                let wanted = || {
                    let (kind, chunk) = of_run_time();
                    let chunk = u64::try_from(chunk).unwrap_or(0);
                    Loop { kind, ordered: $ordered, chunk, step: step.cast_signed(), call }
                };
                // SAFETY: promised by our caller.
                unsafe {
                    begun(wanted, [first, end], signed_of_unsigned, || {
                        next(up, from, to, step, first, end)
                    })
                }
            }
        )+ }
    };
}

start_unsigned_of_run_time! {
    GOMP_loop_ull_runtime_start: false;
    GOMP_loop_ull_nonmonotonic_runtime_start: false;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start: false;
    GOMP_loop_ull_ordered_runtime_start: true;
}

/// More iterations of loops over unsigned numbers.
macro_rules! more_unsigned {
    ($($name:ident)+) => {
        front! { $(
            /// A thread wants more iterations.
            fn $name(first: *mut c_ulonglong, end: *mut c_ulonglong) -> bool |next| {
                // SAFETY: promised by our caller.
                unsafe { next_ones([first, end], signed_of_unsigned, || next(first, end)) }
            }
        )+ }
    };
}

more_unsigned! {
    GOMP_loop_ull_static_next GOMP_loop_ull_dynamic_next GOMP_loop_ull_guided_next
    GOMP_loop_ull_runtime_next
    GOMP_loop_ull_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_guided_next
    GOMP_loop_ull_nonmonotonic_runtime_next GOMP_loop_ull_maybe_nonmonotonic_runtime_next
    GOMP_loop_ull_ordered_static_next GOMP_loop_ull_ordered_dynamic_next
    GOMP_loop_ull_ordered_guided_next GOMP_loop_ull_ordered_runtime_next
}

/// The end of a loop or of sections, with the barrier there.
pub(super) fn ended<R>(wait: impl FnOnce() -> R) -> R {
    let Some(thread) = watched() else {
        return wait();
    };
    thread.loop_ends();
    thread.wait_begins(State::ImplicitBarrier, 0);
    let result = wait();
    thread.wait_ends();
    result
}

/// The end of a loop or of sections, without one.
pub(super) fn ended_without_barrier(end: impl FnOnce()) {
    if let Some(thread) = watched() {
        thread.loop_ends();
    }
    end();
}

front! {
    /// The end of a loop.
    fn GOMP_loop_end() |next| {
        // SAFETY: promised by our caller.
        ended(|| unsafe { next() });
    }

    /// The same where it may be cancelled.
    fn GOMP_loop_end_cancel() -> bool |next| {
        // SAFETY: promised by our caller.
        ended(|| unsafe { next() })
    }

    /// The end of a loop with a `nowait` clause.
    fn GOMP_loop_end_nowait() |next| {
        // SAFETY: promised by our caller.
        ended_without_barrier(|| unsafe { next() });
    }

    /// An iteration of a doacross loop is done.
    fn GOMP_doacross_post(counts: *mut c_long) |next| {
        seen::unseen(Unseen::Doacross);
        // SAFETY: promised by our caller.
        unsafe { next(counts) };
    }

    /// The same over unsigned numbers.
    fn GOMP_doacross_ull_post(counts: *mut c_ulonglong) |next| {
        seen::unseen(Unseen::Doacross);
        // SAFETY: promised by our caller.
        unsafe { next(counts) };
    }
}
