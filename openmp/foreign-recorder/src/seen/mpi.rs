//! Calls of MPI, which an interposer in front of it tells.

use super::process::recorder;
use super::thread::thread;
use fathomp_trace::now;
use fathomp_types::Ticks;
use fathomp_types::mpi::{Done, Transfer};

/// The calling thread calls MPI: when, in ticks; 0 if it is not recorded.
pub(crate) fn mpi_begins() -> u64 {
    let thread = thread().and_then(|thread| thread.recorder());
    thread.map_or(0, |thread| thread.wait_begins().0.max(1))
}

/// That call is over.
pub(crate) fn mpi_ends(done: &Done) {
    let thread = thread().and_then(|thread| thread.recorder());
    if let (Some(recorder), Some(thread)) = (recorder(), thread) {
        thread.message(&recorder.message(done, Ticks(done.begin), now()));
    }
}

/// A message of that call, before it is over.
pub(crate) fn mpi_transfers(transfer: &Transfer) {
    if let Some(thread) = thread().and_then(|thread| thread.recorder()) {
        thread.transfer(transfer);
    }
}
