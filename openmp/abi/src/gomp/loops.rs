//! Worksharing loops over `long`: `GOMP_loop_*`.
//!
//! Every `*_start` meets the loop and hands out the member's first chunk;
//! every `*_next` hands out another. Both return whether there was one. Bounds
//! are a chunk's first value and the value its loop ends before.

use crate::entry::{entries, entry};
use fathomp_omp::current;
use fathomp_omp::team::Member;
use fathomp_omp::worksharing::{self, Dealing, Iterations, Loop};
use fathomp_sys::call_site::call_site;
use std::ffi::{c_long, c_void};

/// The modifier bit in the schedule argument of the generic entry points.
const MONOTONIC: c_long = 0x8000_0000;

/// Where the compiled code wants a chunk's bounds. The values of signed and
/// unsigned loops have the same representation.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Bounds {
    start: *mut u64,
    end: *mut u64,
}

impl Bounds {
    pub(super) fn new(start: *mut u64, end: *mut u64) -> Self {
        Self { start, end }
    }

    /// Hands the chunk to the program.
    ///
    /// # Safety
    /// The addresses are the arguments of an entry point that compiled code
    /// called: words of its own that it lets the runtime write.
    #[inline]
    pub(super) unsafe fn put(self, chunk: Option<(u64, u64)>) -> bool {
        let Some((start, end)) = chunk else {
            return false;
        };
        // SAFETY: promised by our caller.
        unsafe {
            self.start.write(start);
            self.end.write(end);
        }
        true
    }
}

/// A chunk size as the program computed it; below 1 means the default, 1 where
/// chunks are dealt on request.
#[inline]
pub(super) fn chunk(size: c_long) -> u64 {
    size.max(0) as u64
}

#[inline]
pub(super) fn fixed(chunk: u64) -> Dealing {
    Dealing::Static { chunk }
}

#[inline]
pub(super) fn dynamic(chunk: u64) -> Dealing {
    Dealing::Dynamic {
        chunk,
        monotonic: true,
    }
}

#[inline]
pub(super) fn nonmonotonic_dynamic(chunk: u64) -> Dealing {
    Dealing::Dynamic {
        chunk,
        monotonic: false,
    }
}

#[inline]
pub(super) fn guided(chunk: u64) -> Dealing {
    Dealing::Guided { chunk }
}

/// The schedule argument of the generic entry points: 0 stands for
/// `schedule(runtime)` without `nonmonotonic`, 4 for that with it.
pub(super) fn generic(member: &Member, schedule: c_long, chunk: u64) -> Dealing {
    let monotonic = schedule & MONOTONIC != 0;
    match schedule & !MONOTONIC {
        1 => fixed(chunk),
        2 => Dealing::Dynamic { chunk, monotonic },
        3 => guided(chunk),
        4 => Dealing::runtime(member, Some(false)),
        _ => Dealing::runtime(member, monotonic.then_some(true)),
    }
}

/// Meets a loop and hands out the first chunk.
///
/// # Safety
/// As of [`Bounds::put`].
#[inline]
pub(super) unsafe fn start(
    member: &'static Member,
    iterations: Iterations,
    dealing: Dealing,
    bounds: Bounds,
) -> bool {
    worksharing::start(member, &plain(iterations, dealing));
    // SAFETY: promised by our caller.
    unsafe { bounds.put(worksharing::next(member)) }
}

/// The same for a loop with an `ordered` clause.
///
/// # Safety
/// As of [`Bounds::put`].
#[inline]
pub(super) unsafe fn start_ordered(
    member: &'static Member,
    iterations: Iterations,
    dealing: Dealing,
    bounds: Bounds,
) -> bool {
    worksharing::start(member, &ordered(iterations, dealing));
    // SAFETY: promised by our caller.
    unsafe { bounds.put(worksharing::next_ordered(member)) }
}

/// A loop without an `ordered` clause, called for by the current entry point.
#[inline]
pub(super) fn plain(iterations: Iterations, dealing: Dealing) -> Loop {
    Loop {
        iterations,
        dealing,
        ordered: false,
        sections: false,
        call: call_site(),
    }
}

/// A loop with an `ordered` clause. Its chunks take turns, so a member must
/// get them in increasing order.
#[inline]
pub(super) fn ordered(iterations: Iterations, dealing: Dealing) -> Loop {
    Loop {
        ordered: true,
        dealing: in_order(dealing),
        ..plain(iterations, dealing)
    }
}

/// The monotonic form of a schedule.
#[inline]
pub(super) fn in_order(dealing: Dealing) -> Dealing {
    match dealing {
        Dealing::Dynamic { chunk, .. } => dynamic(chunk),
        other => other,
    }
}

/// What the generic entry points take besides the loop.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// Table of task reductions; null if none.
    pub(super) reductions: *mut usize,
    /// Word that holds how many bytes the members want to share and that
    /// receives their address; null if none.
    pub(super) memory: *mut *mut c_void,
}

/// Meets a loop whose members share more than iterations.
///
/// # Safety
/// The pointers in `parts` are the arguments of an entry point that compiled
/// code called.
pub(super) unsafe fn meet(member: &'static Member, wanted: &Loop, parts: Parts) {
    if !parts.reductions.is_null() {
        // SAFETY: promised by our caller.
        unsafe { super::reductions::begin_workshare(member, parts.reductions) };
    }
    if parts.memory.is_null() {
        return worksharing::start(member, wanted);
    }
    worksharing::start_with(member, wanted, |shared| {
        // SAFETY: promised by our caller.
        unsafe { share_memory(shared, parts.memory) };
    });
}

/// # Safety
/// `memory` is not null and as described in [`Parts`].
pub(super) unsafe fn share_memory(shared: &mut worksharing::SharedParts, memory: *mut *mut c_void) {
    // SAFETY: promised by our caller.
    let bytes = unsafe { memory.read() }.addr();
    let address = shared.memory(bytes);
    // SAFETY: promised by our caller.
    unsafe { memory.write(std::ptr::with_exposed_provenance_mut(address)) };
}

/// The generic entry points: meets the loop and, unless the compiled code
/// divides it itself and passes no bounds, hands out the first chunk.
///
/// # Safety
/// As of [`meet`]; `bounds` are two such arguments, perhaps null.
pub(super) unsafe fn start_generic(
    member: &'static Member,
    wanted: &Loop,
    bounds: Bounds,
    parts: Parts,
) -> bool {
    // SAFETY: promised by our caller.
    unsafe { meet(member, wanted, parts) };
    if bounds.start.is_null() || bounds.end.is_null() {
        return true;
    }
    let chunk = if wanted.ordered {
        worksharing::next_ordered(member)
    } else {
        worksharing::next(member)
    };
    // SAFETY: promised by our caller, and not null.
    unsafe { bounds.put(chunk) }
}

/// Entry points that meet a loop with a schedule of their own.
macro_rules! starts {
    ($($name:ident => $body:ident, $start:ident, $deal:path;)+) => {$(
        entry! {
            /// `bool NAME(long start, long end, long incr, long chunk_size, long *istart, long *iend)`
            $name => $body;
        }

        extern "C" fn $body(
            first: c_long,
            end: c_long,
            step: c_long,
            size: c_long,
            start_out: *mut u64,
            end_out: *mut u64,
        ) -> bool {
            let iterations = Iterations::signed(first, end, step);
            let bounds = Bounds::new(start_out, end_out);
            // SAFETY: these are the arguments of the entry point.
            unsafe { $start(current(), iterations, $deal(chunk(size)), bounds) }
        }
    )+};
}

starts! {
    GOMP_loop_static_start => static_start, start, fixed;
    GOMP_loop_dynamic_start => dynamic_start, start, dynamic;
    GOMP_loop_guided_start => guided_start, start, guided;
    GOMP_loop_nonmonotonic_dynamic_start => nonmonotonic_dynamic_start, start, nonmonotonic_dynamic;
    GOMP_loop_nonmonotonic_guided_start => nonmonotonic_guided_start, start, guided;
    GOMP_loop_ordered_static_start => ordered_static_start, start_ordered, fixed;
    GOMP_loop_ordered_dynamic_start => ordered_dynamic_start, start_ordered, dynamic;
    GOMP_loop_ordered_guided_start => ordered_guided_start, start_ordered, guided;
}

/// Entry points that meet a loop with `schedule(runtime)`.
macro_rules! runtime_starts {
    ($($name:ident => $body:ident, $start:ident, $monotonic:expr;)+) => {$(
        entry! {
            /// `bool NAME(long start, long end, long incr, long *istart, long *iend)`
            $name => $body;
        }

        extern "C" fn $body(
            first: c_long,
            end: c_long,
            step: c_long,
            start_out: *mut u64,
            end_out: *mut u64,
        ) -> bool {
            let member = current();
            let iterations = Iterations::signed(first, end, step);
            let dealing = Dealing::runtime(member, $monotonic);
            let bounds = Bounds::new(start_out, end_out);
            // SAFETY: these are the arguments of the entry point.
            unsafe { $start(member, iterations, dealing, bounds) }
        }
    )+};
}

runtime_starts! {
    GOMP_loop_runtime_start => runtime_start, start, Some(true);
    GOMP_loop_nonmonotonic_runtime_start => nonmonotonic_runtime_start, start, Some(false);
    GOMP_loop_maybe_nonmonotonic_runtime_start => maybe_nonmonotonic_runtime_start, start, None;
    GOMP_loop_ordered_runtime_start => ordered_runtime_start, start_ordered, Some(true);
}

/// Entry points that hand out the next chunk of whatever loop was met last,
/// signed or unsigned: the member remembers all about it.
macro_rules! nexts {
    ($($name:ident => $next:path;)+) => {$(
        /// `bool NAME(TYPE *istart, TYPE *iend)`
        ///
        /// # Safety
        /// `start` and `end` are words that the runtime may write.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(start: *mut u64, end: *mut u64) -> bool {
            // SAFETY: promised by our caller.
            unsafe { Bounds::new(start, end).put($next(current())) }
        }
    )+};
}

nexts! {
    GOMP_loop_static_next => worksharing::next;
    GOMP_loop_dynamic_next => worksharing::next;
    GOMP_loop_guided_next => worksharing::next;
    GOMP_loop_runtime_next => worksharing::next;
    GOMP_loop_nonmonotonic_dynamic_next => worksharing::next;
    GOMP_loop_nonmonotonic_guided_next => worksharing::next;
    GOMP_loop_nonmonotonic_runtime_next => worksharing::next;
    GOMP_loop_maybe_nonmonotonic_runtime_next => worksharing::next;
    GOMP_loop_ordered_static_next => worksharing::next_ordered;
    GOMP_loop_ordered_dynamic_next => worksharing::next_ordered;
    GOMP_loop_ordered_guided_next => worksharing::next_ordered;
    GOMP_loop_ordered_runtime_next => worksharing::next_ordered;
    GOMP_loop_ull_static_next => worksharing::next;
    GOMP_loop_ull_dynamic_next => worksharing::next;
    GOMP_loop_ull_guided_next => worksharing::next;
    GOMP_loop_ull_runtime_next => worksharing::next;
    GOMP_loop_ull_nonmonotonic_dynamic_next => worksharing::next;
    GOMP_loop_ull_nonmonotonic_guided_next => worksharing::next;
    GOMP_loop_ull_nonmonotonic_runtime_next => worksharing::next;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next => worksharing::next;
    GOMP_loop_ull_ordered_static_next => worksharing::next_ordered;
    GOMP_loop_ull_ordered_dynamic_next => worksharing::next_ordered;
    GOMP_loop_ull_ordered_guided_next => worksharing::next_ordered;
    GOMP_loop_ull_ordered_runtime_next => worksharing::next_ordered;
}

/// Entry points that meet a loop of any schedule.
macro_rules! generic_starts {
    ($($name:ident => $body:ident, $kind:ident;)+) => {$(
        entry! {
            /// `bool NAME(long start, long end, long incr, long sched, long chunk_size,
            /// long *istart, long *iend, uintptr_t *reductions, void **mem)`
            $name => $body;
        }

        extern "C" fn $body(
            first: c_long,
            end: c_long,
            step: c_long,
            schedule: c_long,
            size: c_long,
            start_out: *mut u64,
            end_out: *mut u64,
            reductions: *mut usize,
            memory: *mut *mut c_void,
        ) -> bool {
            let member = current();
            let dealing = generic(member, schedule, chunk(size));
            let wanted = $kind(Iterations::signed(first, end, step), dealing);
            let bounds = Bounds::new(start_out, end_out);
            // SAFETY: these are the arguments of the entry point.
            unsafe { start_generic(member, &wanted, bounds, Parts { reductions, memory }) }
        }
    )+};
}

generic_starts! {
    GOMP_loop_start => loop_start, plain;
    GOMP_loop_ordered_start => loop_ordered_start, ordered;
}

entries! {
    /// `void GOMP_loop_end(void)`: the end of a loop, with its barrier.
    fn GOMP_loop_end() {
        worksharing::end(current());
    }
    /// `void GOMP_loop_end_nowait(void)`
    fn GOMP_loop_end_nowait() {
        worksharing::end_nowait(current());
    }
    /// `bool GOMP_loop_end_cancel(void)`: as `GOMP_loop_end`; whether the region
    /// has been cancelled.
    fn GOMP_loop_end_cancel() -> bool {
        worksharing::end_cancel(current())
    }
}
