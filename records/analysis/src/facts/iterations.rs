//! Iterations of a region's worksharing loops: dealt by the runtime, and divided by the code.

use serde::Serialize;

/// Both together, if there are any.
pub(crate) fn either(dealt: u64, divided: Option<u64>) -> Option<u64> {
    match (dealt, divided) {
        (0, divided) => divided,
        (dealt, divided) => Some(dealt.saturating_add(divided.unwrap_or(0))),
    }
}

/// Iterations of a region's worksharing loops that threads divide by the code, without
/// asking the runtime: from the code and the values that the region was begun with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trips {
    /// Executions of which they are known.
    pub executions: u64,
    /// Iterations in these, all threads together.
    pub iterations: u64,
    /// In the execution with fewest.
    pub fewest: u64,
    /// In the execution with most.
    pub most: u64,
    /// Different sets of values that it was begun with.
    pub sets: u64,
    /// By OpenMP thread number; empty if shares are not known.
    pub threads: Vec<ThreadTrips>,
}

/// Executions of which iterations are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownIterations {
    /// How many.
    pub executions: u64,
    /// Why, of the first.
    pub reason: String,
}

/// A thread's share of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadTrips {
    /// OpenMP thread number.
    pub thread_num: u32,
    /// Iterations.
    pub iterations: u64,
}
