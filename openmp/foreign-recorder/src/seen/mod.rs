//! What is seen of a runtime from outside, turned into records.
//!
//! Each observer says which events it sees, in the thread that they concern: the fronts of
//! libgomp ([`crate::gomp`]) and the tool of runtimes that speak OMPT ([`crate::tool`]). What
//! follows from an event is decided here, so that recordings of all runtimes mean the same.
#![deny(unsafe_code)]

mod cost;
mod loops;
mod mpi;
mod parts;
mod process;
mod region;
mod thread;

pub(crate) use mpi::{mpi_begins, mpi_ends, mpi_transfers};
pub(crate) use process::{lapse, unseen};
pub(crate) use region::{Loop, Region};
pub(crate) use thread::{Thread, thread};

use fathomp_launch::of_this_process;
use fathomp_sys::clock::{self, Pair};
use fathomp_sys::process::on_fork_in_child;
use fathomp_trace::recorder::{Recorder, Watched};
use std::sync::OnceLock;

static LOADED: OnceLock<Pair> = OnceLock::new();

/// The library has been loaded: what the initial thread does from now on is part of its life.
pub(crate) fn loaded() {
    LOADED.get_or_init(clock::pair);
}

/// Whether anybody wants a recording of this process.
pub(crate) fn is_asked_for() -> bool {
    fathomp_launch::Recorder::is_asked_for(&of_this_process)
}

/// Begins to record this process, which has begun to use that runtime. False, with a sentence
/// on standard error, if that is impossible. Later calls tell how the first one ended.
pub(crate) fn begin(runtime: impl FnOnce() -> Watched) -> bool {
    static BEGUN: OnceLock<bool> = OnceLock::new();
    *BEGUN.get_or_init(|| {
        let started = *LOADED.get_or_init(clock::pair);
        let recorder = Recorder::from_environment(runtime(), started, None);
        process::set(recorder);
        // In a child that nobody restarts, the parent's rings would be written to.
        recorder.is_some() && on_fork_in_child(restart_in_child)
    })
}

/// The process ends properly.
pub(crate) fn finish() {
    if let Some(recorder) = process::recorder() {
        thread::finish();
        recorder.finish();
    }
}

/// Runs in a forked child, in its only thread.
extern "C" fn restart_in_child() {
    let recorder = process::recorder().and_then(Recorder::restart_in_child);
    process::set(recorder);
    thread::restart_in_child();
}
