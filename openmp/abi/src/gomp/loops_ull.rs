//! Worksharing loops over `unsigned long long`: `GOMP_loop_ull_*`.
//!
//! As in [`super::loops`], with one more argument, `up`: the loop counts
//! upwards. A loop that counts down has a step that is the two's complement of
//! the decrement. Their `*_next` entry points are in [`super::loops`].

use super::loops::{
    Bounds, Parts, dynamic, fixed, generic, guided, nonmonotonic_dynamic, ordered, plain, start,
    start_generic, start_ordered,
};
use crate::entry::entry;
use fathomp_omp::current;
use fathomp_omp::worksharing::{Dealing, Iterations};
use std::ffi::{c_long, c_void};

/// Entry points that meet a loop with a schedule of their own.
macro_rules! starts {
    ($($name:ident => $body:ident, $start:ident, $deal:path;)+) => {$(
        entry! {
            /// `bool NAME(bool up, ull start, ull end, ull incr, ull chunk_size, ull *istart, ull *iend)`
            $name => $body;
        }

        extern "C" fn $body(
            up: bool,
            first: u64,
            end: u64,
            step: u64,
            chunk: u64,
            start_out: *mut u64,
            end_out: *mut u64,
        ) -> bool {
            let iterations = Iterations::unsigned(up, first, end, step);
            let bounds = Bounds::new(start_out, end_out);
            // SAFETY: these are the arguments of the entry point.
            unsafe { $start(current(), iterations, $deal(chunk), bounds) }
        }
    )+};
}

starts! {
    GOMP_loop_ull_static_start => static_start, start, fixed;
    GOMP_loop_ull_dynamic_start => dynamic_start, start, dynamic;
    GOMP_loop_ull_guided_start => guided_start, start, guided;
    GOMP_loop_ull_nonmonotonic_dynamic_start => nonmonotonic_dynamic_start, start, nonmonotonic_dynamic;
    GOMP_loop_ull_nonmonotonic_guided_start => nonmonotonic_guided_start, start, guided;
    GOMP_loop_ull_ordered_static_start => ordered_static_start, start_ordered, fixed;
    GOMP_loop_ull_ordered_dynamic_start => ordered_dynamic_start, start_ordered, dynamic;
    GOMP_loop_ull_ordered_guided_start => ordered_guided_start, start_ordered, guided;
}

/// Entry points that meet a loop with `schedule(runtime)`.
macro_rules! runtime_starts {
    ($($name:ident => $body:ident, $start:ident, $monotonic:expr;)+) => {$(
        entry! {
            /// `bool NAME(bool up, ull start, ull end, ull incr, ull *istart, ull *iend)`
            $name => $body;
        }

        extern "C" fn $body(
            up: bool,
            first: u64,
            end: u64,
            step: u64,
            start_out: *mut u64,
            end_out: *mut u64,
        ) -> bool {
            let member = current();
            let iterations = Iterations::unsigned(up, first, end, step);
            let dealing = Dealing::runtime(member, $monotonic);
            let bounds = Bounds::new(start_out, end_out);
            // SAFETY: these are the arguments of the entry point.
            unsafe { $start(member, iterations, dealing, bounds) }
        }
    )+};
}

runtime_starts! {
    GOMP_loop_ull_runtime_start => runtime_start, start, Some(true);
    GOMP_loop_ull_nonmonotonic_runtime_start => nonmonotonic_runtime_start, start, Some(false);
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start => maybe_nonmonotonic_runtime_start, start, None;
    GOMP_loop_ull_ordered_runtime_start => ordered_runtime_start, start_ordered, Some(true);
}

/// As `generic_starts` of the long forms.
macro_rules! generic_starts {
    ($($name:ident => $body:ident, $kind:ident;)+) => {$(
        entry! {
            /// `bool NAME(bool up, unsigned long long start, end, incr, long sched,
            /// unsigned long long chunk_size, *istart, *iend, uintptr_t *reductions, void **mem)`
            $name => $body;
        }

        extern "C" fn $body(
            up: bool,
            first: u64,
            end: u64,
            step: u64,
            schedule: c_long,
            chunk: u64,
            start_out: *mut u64,
            end_out: *mut u64,
            reductions: *mut usize,
            memory: *mut *mut c_void,
        ) -> bool {
            let member = current();
            let dealing = generic(member, schedule, chunk);
            let wanted = $kind(Iterations::unsigned(up, first, end, step), dealing);
            let bounds = Bounds::new(start_out, end_out);
            // SAFETY: these are the arguments of the entry point.
            unsafe { start_generic(member, &wanted, bounds, Parts { reductions, memory }) }
        }
    )+};
}

generic_starts! {
    GOMP_loop_ull_start => loop_start, plain;
    GOMP_loop_ull_ordered_start => loop_ordered_start, ordered;
}
