//! `parallel` constructs.

use crate::entry::entry;
use fathomp_omp::icv::ProcBind;
use fathomp_omp::parallel::{self, Caller, Fork};
use fathomp_omp::worksharing::Preset;
use fathomp_sys::call_site::call_site;
use fathomp_sys::outlined::{Opaque, Outlined};

/// C's `void (*)(void *)` as compiled programs pass it.
pub(crate) type Function = extern "C" fn(Opaque);

/// What a `parallel` entry point with these arguments asks for. Call it first
/// thing in the body, before the call site is overwritten.
///
/// # Safety
/// `function` and `data` are the arguments of an entry point that compiled
/// code called: the function may run on any thread with that data until the
/// region ends.
#[inline]
pub(crate) unsafe fn fork_of(
    function: Function,
    data: Opaque,
    threads: u32,
    flags: u32,
    preset: Option<Preset>,
) -> Fork<'static> {
    Fork {
        // SAFETY: promised by our caller.
        function: unsafe { Outlined::from_program(function) },
        data,
        threads,
        // The low three bits are the `proc_bind` clause, 0 if there is none.
        bind: match flags & 7 {
            0 => None,
            policy => ProcBind::from_number(policy),
        },
        call: call_site(),
        preset,
        called_by_program: false,
        caller: Caller::Gnu,
        prepare: None,
    }
}

entry! {
    /// `void GOMP_parallel(void (*fn)(void *), void *data, unsigned num_threads, unsigned flags)`
    GOMP_parallel => gomp_parallel;
    /// `void GOMP_parallel_start(void (*fn)(void *), void *data, unsigned num_threads)`
    GOMP_parallel_start => gomp_parallel_start;
}

extern "C" fn gomp_parallel(function: Function, data: Opaque, threads: u32, flags: u32) {
    // SAFETY: these are the arguments of `GOMP_parallel`.
    let fork = unsafe { fork_of(function, data, threads, flags, None) };
    parallel::parallel(&fork);
}

extern "C" fn gomp_parallel_start(function: Function, data: Opaque, threads: u32) {
    // SAFETY: these are the arguments of `GOMP_parallel_start`; its region
    // ends in `GOMP_parallel_end`.
    let fork = unsafe { fork_of(function, data, threads, 0, None) };
    parallel::begin_legacy(&fork);
}

/// `void GOMP_parallel_end(void)`
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_parallel_end() {
    parallel::end_legacy();
}
