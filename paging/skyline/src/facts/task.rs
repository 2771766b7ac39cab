//! Who was recorded, when, and what part of it is looked at.

use fathomp_paging::{Counter, Ending, State, TaskId, TaskKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// The part of a recording that is looked at: wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Its begin.
    pub from_ns: u64,
    /// Its end: `from_ns + bins * bin_ns`.
    pub to_ns: u64,
    /// Length of a bin.
    pub bin_ns: u64,
    /// Number of bins.
    pub bins: usize,
    /// Whether it is the whole recording.
    pub is_whole: bool,
}

impl Window {
    /// Length of the window.
    #[must_use]
    pub const fn ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    /// When a bin begins.
    #[must_use]
    pub const fn bin_begin_ns(&self, bin: usize) -> u64 {
        self.from_ns + bin as u64 * self.bin_ns
    }
}

/// A task within the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskFacts {
    /// Its number in the recording.
    pub id: TaskId,
    /// The name by which people know it.
    pub label: String,
    /// What it is.
    pub kind: TaskKind,
    /// Number of its process.
    pub process: u32,
    /// Its rank in `MPI_COMM_WORLD`.
    pub rank: Option<u32>,
    /// Its node.
    pub node: Option<u32>,
    /// Its number among its process's OpenMP threads.
    pub openmp_thread: Option<u32>,
    /// Name of its host.
    pub host: String,
    /// When it began, be that before the window.
    pub begin_ns: u64,
    /// When its record ends.
    pub end_ns: u64,
    /// How its record ends.
    pub ending: Ending,
    /// First bin in which it lived.
    pub first_bin: usize,
    /// Bins in which it lived; 0 if it did not live in the window.
    pub bins: usize,
    /// Intervals that its record holds in the window.
    pub intervals: u64,
    /// Intervals that were merged into these; the same number if none were.
    pub intervals_merged: u64,
    /// Time in each state, in the order of [`State::ALL`].
    pub states_ns: [u64; State::COUNT],
    /// Time of its life for which nothing was recorded.
    pub unrecorded_ns: u64,
    /// What it counted; counters that counted nothing are left out.
    pub totals: BTreeMap<Counter, u64>,
}

impl TaskFacts {
    /// Recorded time, in any state.
    #[must_use]
    pub fn recorded_ns(&self) -> u64 {
        self.states_ns
            .iter()
            .fold(0, |sum: u64, ns| sum.saturating_add(*ns))
    }
}

/// Logical time: phases between barriers that the whole program passes.
///
/// A task's phases end at the barriers that it passed itself. A task that did not
/// record as many barriers as the others gets their times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phases {
    /// When phases end, by the task of reference; the last ends with the window. There
    /// is one more phase than barriers.
    pub ends_ns: Vec<u64>,
    /// Name of the barrier that ends each phase but the last; empty if it has none.
    pub barriers: Vec<String>,
    /// The task whose barriers these are.
    pub reference: TaskId,
    /// Tasks that passed exactly as many barriers as the task of reference.
    pub tasks_own: u64,
    /// Threads that got their times from it, though they lived for half the time or more.
    pub tasks_borrowed: u64,
}

impl Phases {
    /// Number of phases.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ends_ns.len()
    }
}
