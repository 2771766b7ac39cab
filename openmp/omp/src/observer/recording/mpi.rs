//! Calls of MPI, which an interposer in front of it tells.

use crate::recorded::recorder;
use crate::worker::{current, known};
use fathomp_sys::process::is_initial_thread;
use fathomp_trace::now;
use fathomp_trace::recorder::{Recorder, ThreadRecorder};
use fathomp_types::Ticks;
use fathomp_types::mpi::{Done, Transfer};

/// The calling thread's recorder. Programs may call MPI long before OpenMP, or without it: then
/// their first thread becomes known here. Others that call MPI alone, as its own threads, stay
/// strangers.
fn thread() -> Option<(&'static Recorder, &'static ThreadRecorder)> {
    let member = match known() {
        Some(member) => member,
        // The runtime begins with it, and so does its recorder.
        None if is_initial_thread() => current(),
        None => return None,
    };
    Some((recorder()?, member.worker().recorder()?))
}

/// The calling thread calls MPI: when, in ticks; 0 if it is not recorded.
#[must_use]
pub fn mpi_begins() -> u64 {
    thread().map_or(0, |(_, thread)| thread.wait_begins().0.max(1))
}

/// That call is over.
pub fn mpi_ends(done: &Done) {
    if let Some((recorder, thread)) = thread() {
        thread.message(&recorder.message(done, Ticks(done.begin), now()));
    }
}

/// A message of that call, before it is over.
pub fn mpi_transfers(transfer: &Transfer) {
    if let Some((_, thread)) = thread() {
        thread.transfer(transfer);
    }
}
