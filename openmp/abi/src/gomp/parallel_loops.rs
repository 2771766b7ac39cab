//! Combined `parallel` and worksharing constructs: the region begins inside
//! its loop or sections, and its code asks for the first chunk by `*_next`.

use super::loops::{chunk, dynamic, fixed, guided, nonmonotonic_dynamic, plain};
use super::parallel::{Function, fork_of};
use crate::entry::entry;
use fathomp_omp::worksharing::{Dealing, Iterations, Loop, Preset};
use fathomp_omp::{current, parallel};
use fathomp_sys::call_site::call_site;
use fathomp_sys::outlined::Opaque;
use std::ffi::{c_long, c_uint};

/// Entry points with a schedule of their own; `$run` runs the region or, in
/// the legacy forms, begins it.
macro_rules! loops {
    ($($name:ident => $body:ident, $deal:path, $run:path $(, $flags:ident)?;)+) => {$(
        entry! {
            /// `void NAME(void (*fn)(void *), void *data, unsigned num_threads, long start,
            /// long end, long incr, long chunk_size[, unsigned flags])`
            $name => $body;
        }

        extern "C" fn $body(
            function: Function,
            data: Opaque,
            threads: c_uint,
            first: c_long,
            end: c_long,
            step: c_long,
            size: c_long,
            $($flags: c_uint,)?
        ) {
            let flags = 0 $(+ $flags)?;
            let iterations = Iterations::signed(first, end, step);
            let preset = Preset(plain(iterations, $deal(chunk(size))));
            // SAFETY: these are the arguments of the entry point.
            let fork = unsafe { fork_of(function, data, threads, flags, Some(preset)) };
            $run(&fork);
        }
    )+};
}

loops! {
    GOMP_parallel_loop_static => run_static, fixed, parallel::parallel, flags;
    GOMP_parallel_loop_dynamic => run_dynamic, dynamic, parallel::parallel, flags;
    GOMP_parallel_loop_guided => run_guided, guided, parallel::parallel, flags;
    GOMP_parallel_loop_nonmonotonic_dynamic => run_nonmonotonic_dynamic, nonmonotonic_dynamic, parallel::parallel, flags;
    GOMP_parallel_loop_nonmonotonic_guided => run_nonmonotonic_guided, guided, parallel::parallel, flags;
    GOMP_parallel_loop_static_start => begin_static, fixed, parallel::begin_legacy;
    GOMP_parallel_loop_dynamic_start => begin_dynamic, dynamic, parallel::begin_legacy;
    GOMP_parallel_loop_guided_start => begin_guided, guided, parallel::begin_legacy;
}

/// Entry points with `schedule(runtime)`.
macro_rules! runtime_loops {
    ($($name:ident => $body:ident, $monotonic:expr, $run:path $(, $flags:ident)?;)+) => {$(
        entry! {
            /// `void NAME(void (*fn)(void *), void *data, unsigned num_threads, long start,
            /// long end, long incr[, unsigned flags])`
            $name => $body;
        }

        extern "C" fn $body(
            function: Function,
            data: Opaque,
            threads: c_uint,
            first: c_long,
            end: c_long,
            step: c_long,
            $($flags: c_uint,)?
        ) {
            let flags = 0 $(+ $flags)?;
            let iterations = Iterations::signed(first, end, step);
            // The members inherit the schedule of the encountering task.
            let dealing = Dealing::runtime(current(), $monotonic);
            let preset = Preset(plain(iterations, dealing));
            // SAFETY: these are the arguments of the entry point.
            let fork = unsafe { fork_of(function, data, threads, flags, Some(preset)) };
            $run(&fork);
        }
    )+};
}

runtime_loops! {
    GOMP_parallel_loop_runtime => run_runtime, Some(true), parallel::parallel, flags;
    GOMP_parallel_loop_nonmonotonic_runtime => run_nonmonotonic_runtime, Some(false), parallel::parallel, flags;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime => run_maybe_nonmonotonic_runtime, None, parallel::parallel, flags;
    GOMP_parallel_loop_runtime_start => begin_runtime, Some(true), parallel::begin_legacy;
}

entry! {
    /// `void GOMP_parallel_sections(void (*fn)(void *), void *data, unsigned num_threads,
    /// unsigned count, unsigned flags)`
    GOMP_parallel_sections => parallel_sections;
    /// `void GOMP_parallel_sections_start(void (*fn)(void *), void *data,
    /// unsigned num_threads, unsigned count)`
    GOMP_parallel_sections_start => parallel_sections_start;
}

extern "C" fn parallel_sections(
    function: Function,
    data: Opaque,
    threads: c_uint,
    count: c_uint,
    flags: c_uint,
) {
    let preset = Preset(Loop::sections(count, call_site()));
    // SAFETY: these are the arguments of the entry point.
    let fork = unsafe { fork_of(function, data, threads, flags, Some(preset)) };
    parallel::parallel(&fork);
}

extern "C" fn parallel_sections_start(
    function: Function,
    data: Opaque,
    threads: c_uint,
    count: c_uint,
) {
    let preset = Preset(Loop::sections(count, call_site()));
    // SAFETY: these are the arguments of the entry point.
    let fork = unsafe { fork_of(function, data, threads, 0, Some(preset)) };
    parallel::begin_legacy(&fork);
}
