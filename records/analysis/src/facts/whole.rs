//! What is known of the program and its recording as a whole.

use serde::Serialize;

/// Threads that had to share processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Oversubscription {
    /// Processors they might run on.
    pub processors: u32,
    /// The first of these, if the threads were bound to them; none for the whole
    /// program on all its processors.
    pub first: Option<u32>,
    /// Most threads in parallel regions at the same time, for at least 5 % of the
    /// time in which any was.
    pub threads: u32,
    /// Threads that were ever in a region.
    pub members: u32,
    /// Time they were ready to run without a processor, whatever they waited for.
    pub ready_ns: u64,
    /// Time they computed in regions.
    pub processor_ns: u64,
}

/// What recording cost the program, as an estimate: events x cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Intrusion {
    /// Events recorded or accumulated.
    pub events: u64,
    /// Mean cost of an event.
    pub event_cost_ns: f64,
    /// Cost of all events, all threads.
    pub cost_ns: u64,
    /// Cost as a fraction of the time of all threads.
    pub fraction: f64,
    /// The largest such fraction of any region.
    pub worst_region_fraction: f64,
}
