//! Threads of the present and the next team, and how loops are dealt to them.

use super::{ask, ask_with, count, saturated, update_icvs};
use crate::entry::entry;
use fathomp_omp::icv::Schedule;
use fathomp_omp::{current, observer, query, runtime};
use fathomp_sys::call_site::call_site;

ask! {
    /// Threads in the current team.
    omp_get_num_threads, omp_get_num_threads_ -> i32 = count(query::num_threads());
    /// Number of the calling thread in its team.
    omp_get_thread_num, omp_get_thread_num_ -> i32 = count(query::thread_num());
    /// Most threads a region without `num_threads` clause could have.
    omp_get_max_threads, omp_get_max_threads_ -> i32 = count(query::max_threads());
    /// Processors available to the program.
    omp_get_num_procs, omp_get_num_procs_ -> i32 = count(query::num_procs());
    /// Whether the caller is inside a region of more than one thread.
    omp_in_parallel, omp_in_parallel_ -> i32 = i32::from(query::in_parallel());
    /// `dyn-var`.
    omp_get_dynamic, omp_get_dynamic_ -> i32 = i32::from(current().icvs().dynamic);
    /// `thread-limit-var`.
    omp_get_thread_limit, omp_get_thread_limit_ -> i32 = count(current().icvs().thread_limit);
    /// `cancel-var`.
    omp_get_cancellation, omp_get_cancellation_ -> i32 =
        i32::from(runtime().settings.cancellation);
}

ask_with! {
    /// Sets `dyn-var`.
    omp_set_dynamic, omp_set_dynamic_, omp_set_dynamic_8_ (dynamic) -> () =
        update_icvs(|icvs| icvs.dynamic = dynamic != 0);
}

entry! {
    /// Sets `nthreads-var`. A number below 1 counts as 1. A recording names the call.
    omp_set_num_threads => set_num_threads;
    /// Fortran's form of `omp_set_num_threads`.
    omp_set_num_threads_ => set_num_threads_fortran;
    /// Fortran's form of `omp_set_num_threads` with 8-byte integers.
    omp_set_num_threads_8_ => set_num_threads_wide;
}

pub(crate) extern "C" fn set_num_threads(threads: i32) {
    let call = call_site();
    runtime();
    observer::threads_set(call);
    update_icvs(|icvs| {
        icvs.num_threads = threads.max(1) as u32;
        icvs.fixed = true;
    });
}

pub(crate) extern "C" fn set_num_threads_fortran(threads: &i32) {
    set_num_threads(*threads);
}

pub(crate) extern "C" fn set_num_threads_wide(threads: &i64) {
    set_num_threads(saturated(*threads));
}

/// Sets `run-sched-var`. A kind that does not exist has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_schedule(kind: u32, chunk: i32) {
    if let Some(schedule) = Schedule::from_api(kind, chunk) {
        update_icvs(|icvs| icvs.schedule = schedule);
    }
}

/// Fortran's form of `omp_set_schedule`.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_schedule_(kind: &u32, chunk: &i32) {
    omp_set_schedule(*kind, *chunk);
}

/// Fortran's form of `omp_set_schedule` with 8-byte integers.
#[unsafe(no_mangle)]
pub extern "C" fn omp_set_schedule_8_(kind: &u32, chunk: &i64) {
    omp_set_schedule(*kind, saturated(*chunk));
}

/// Defines the routines for `run-sched-var`: for gcc's programs under their own
/// names, for those of LLVM under others (see `app/runtime/build/names.rs`).
macro_rules! get_schedule {
    ($known:ident => $get:ident, $fortran:ident, $fortran_8:ident;) => {
        /// `run-sched-var`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $get(kind: &mut u32, chunk: &mut i32) {
            (*kind, *chunk) = $known().to_api();
        }

        /// The same in Fortran.
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran(kind: &mut u32, chunk: &mut i32) {
            $get(kind, chunk);
        }

        /// The same in Fortran with 8-byte integers.
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran_8(kind: &mut u32, chunk: &mut i64) {
            let (known_kind, known_chunk) = $known().to_api();
            (*kind, *chunk) = (known_kind, i64::from(known_chunk));
        }
    };
}

fn known_schedule() -> Schedule {
    current().icvs().schedule
}

fn known_schedule_of_llvm() -> Schedule {
    known_schedule().of_llvm()
}

get_schedule! {
    known_schedule => omp_get_schedule, omp_get_schedule_, omp_get_schedule_8_;
}
get_schedule! {
    known_schedule_of_llvm => fathomp_llvm_omp_get_schedule, fathomp_llvm_omp_get_schedule_,
        fathomp_llvm_omp_get_schedule_8_;
}
