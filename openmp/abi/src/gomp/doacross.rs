//! `ordered(n)` loops: `GOMP_loop_doacross_*`, `GOMP_doacross_*`.
//!
//! The compiled code normalises the nest: all loops count from 0 to their trip
//! counts in steps of 1. `long` and `unsigned long long` forms are the same
//! then, as trip counts are never negative. Chunks after the first come from
//! the plain `GOMP_loop_*_next`.

use super::loops::{Bounds, Parts, chunk, dynamic, fixed, generic, guided, in_order, plain};
use crate::entry::{Frame, entry, variadic};
use fathomp_omp::current;
use fathomp_omp::team::Member;
use fathomp_omp::worksharing::{self, Dealing, Iterations, doacross};
use std::ffi::{c_long, c_uint, c_void};

/// Meets a doacross loop and hands out its first chunk.
///
/// # Safety
/// The pointers are the arguments of an entry point that compiled code called:
/// `counts` has `depth` words.
unsafe fn start(
    member: &'static Member,
    depth: c_uint,
    counts: *const u64,
    dealing: Dealing,
    bounds: Bounds,
    parts: Parts,
) -> bool {
    // SAFETY: promised by our caller.
    let counts = unsafe { std::slice::from_raw_parts(counts, depth as usize) };
    let count = counts.first().copied().unwrap_or(0);
    let dealing = in_order(dealing);
    let wanted = plain(Iterations::counted(count), dealing);
    if !parts.reductions.is_null() {
        // SAFETY: promised by our caller.
        unsafe { super::reductions::begin_workshare(member, parts.reductions) };
    }
    worksharing::start_with(member, &wanted, |shared| {
        doacross::set_up(member, shared, counts, dealing);
        if !parts.memory.is_null() {
            // SAFETY: promised by our caller.
            unsafe { super::loops::share_memory(shared, parts.memory) };
        }
    });
    // SAFETY: promised by our caller.
    unsafe { bounds.put(worksharing::next(member)) }
}

const NO_PARTS: Parts = Parts {
    reductions: std::ptr::null_mut(),
    memory: std::ptr::null_mut(),
};

/// Entry points with a schedule of their own, for `long` and `ull`.
macro_rules! starts {
    ($($name:ident, $ull:ident => $body:ident, $deal:path;)+) => {$(
        entry! {
            /// `bool NAME(unsigned ncounts, long *counts, long chunk_size, long *istart, long *iend)`
            $name => $body;
            /// The same for `unsigned long long`.
            $ull => $body;
        }

        extern "C" fn $body(
            depth: c_uint,
            counts: *const u64,
            size: c_long,
            start_out: *mut u64,
            end_out: *mut u64,
        ) -> bool {
            let bounds = Bounds::new(start_out, end_out);
            // SAFETY: these are the arguments of the entry point.
            unsafe { start(current(), depth, counts, $deal(chunk(size)), bounds, NO_PARTS) }
        }
    )+};
}

starts! {
    GOMP_loop_doacross_static_start, GOMP_loop_ull_doacross_static_start => static_start, fixed;
    GOMP_loop_doacross_dynamic_start, GOMP_loop_ull_doacross_dynamic_start => dynamic_start, dynamic;
    GOMP_loop_doacross_guided_start, GOMP_loop_ull_doacross_guided_start => guided_start, guided;
}

entry! {
    /// `bool GOMP_loop_doacross_runtime_start(unsigned ncounts, long *counts, long *istart, long *iend)`
    GOMP_loop_doacross_runtime_start => runtime_start;
    /// The same for `unsigned long long`.
    GOMP_loop_ull_doacross_runtime_start => runtime_start;
    /// `bool GOMP_loop_doacross_start(unsigned ncounts, long *counts, long sched, long chunk_size,
    /// long *istart, long *iend, uintptr_t *reductions, void **mem)`
    GOMP_loop_doacross_start => generic_start;
    /// The same for `unsigned long long`.
    GOMP_loop_ull_doacross_start => generic_start;
}

extern "C" fn runtime_start(
    depth: c_uint,
    counts: *const u64,
    start_out: *mut u64,
    end_out: *mut u64,
) -> bool {
    let member = current();
    let dealing = Dealing::runtime(member, Some(true));
    let bounds = Bounds::new(start_out, end_out);
    // SAFETY: these are the arguments of the entry point.
    unsafe { start(member, depth, counts, dealing, bounds, NO_PARTS) }
}

extern "C" fn generic_start(
    depth: c_uint,
    counts: *const u64,
    schedule: c_long,
    size: c_long,
    start_out: *mut u64,
    end_out: *mut u64,
    reductions: *mut usize,
    memory: *mut *mut c_void,
) -> bool {
    let member = current();
    let dealing = generic(member, schedule, chunk(size));
    let bounds = Bounds::new(start_out, end_out);
    let parts = Parts { reductions, memory };
    // SAFETY: these are the arguments of the entry point.
    unsafe { start(member, depth, counts, dealing, bounds, parts) }
}

/// `void GOMP_doacross_post(long *counts)`: the iteration is done.
///
/// # Safety
/// `index` has a word for each loop of the nest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_doacross_post(index: *const u64) {
    // SAFETY: the runtime asks for as many words as the nest is deep.
    doacross::post(current(), |depth| unsafe { index.add(depth).read() });
}

/// `void GOMP_doacross_ull_post(unsigned long long *counts)`
///
/// # Safety
/// As of [`GOMP_doacross_post`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_doacross_ull_post(index: *const u64) {
    // SAFETY: promised by our caller.
    unsafe { GOMP_doacross_post(index) };
}

variadic! {
    /// `void GOMP_doacross_wait(long first, ...)`: waits for an iteration.
    GOMP_doacross_wait => doacross_wait;
    /// `void GOMP_doacross_ull_wait(unsigned long long first, ...)`
    GOMP_doacross_ull_wait => doacross_wait;
}

#[cfg(target_arch = "x86_64")]
extern "C" fn doacross_wait(frame: *const Frame) {
    // SAFETY: the compiler passes an argument for each loop of the nest, and the runtime asks
    // for no more.
    doacross::wait(current(), |depth| unsafe { Frame::argument(frame, depth) }
        as u64);
}
