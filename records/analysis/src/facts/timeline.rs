//! Threads over time.

use fathomp_trace::state::State;
use serde::Serialize;

/// Threads over time, reduced to a bounded number of segments.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Timeline {
    /// Start of the first process.
    pub begin_ns: u64,
    /// End of the last.
    pub end_ns: u64,
    /// Length of a cell: nothing shorter can be seen.
    pub cell_ns: u64,
    /// One row a thread, by process and number.
    pub threads: Vec<TimelineThread>,
    /// Threads left out because there were too many rows.
    pub threads_omitted: u32,
}

/// A row of the timeline.
#[derive(Clone, Debug, Serialize)]
pub struct TimelineThread {
    /// Index into [`Analysis::processes`](crate::Analysis::processes).
    pub process: usize,
    /// Number of the thread in its process.
    pub thread: u32,
    /// Disjoint, in order; gaps are times the thread did not exist.
    pub segments: Vec<Segment>,
}

/// A stretch of a thread's life: where it was and how its time divides.
///
/// A segment covers at least one cell unless it is exact (then `states` has
/// one entry).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Segment {
    /// From here
    pub begin_ns: u64,
    /// to here.
    pub end_ns: u64,
    /// Index into [`Analysis::regions`](crate::Analysis::regions) of the region with the most time in it
    /// (0 is the serial part).
    pub region: usize,
    /// The state with the most time in it.
    pub state: State,
    /// Fractions of its time per state, largest first, without zeros.
    pub mix: Vec<(State, f32)>,
}
