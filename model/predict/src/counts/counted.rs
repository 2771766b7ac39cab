//! What was counted, and who counted it.

use crate::prices::{Counts, Protocol};

/// Whose events a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// One thread's.
    Thread(u32),
    /// The most that any thread has, region by region: the critical path.
    Critical,
    /// Those of all threads together.
    All,
}

/// Counts of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the region; empty for the whole program.
    pub region: String,
    /// Whose.
    pub scope: Scope,
    /// How many.
    pub counts: Counts,
}

/// Counts of a program with one number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Threads, one per node: p.
    pub threads: u32,
    /// Time of the sequential program on the machine predicted for: T(1).
    pub sequential_ns: f64,
    /// What was counted.
    pub rows: Vec<Row>,
    /// The speedup that was measured, if it was.
    pub speedup_observed: Option<f64>,
}

/// Counts of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Its name; may be empty.
    pub name: String,
    /// By number of threads, ascending, each once.
    pub runs: Vec<Run>,
}

/// What a file or recordings hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Which protocol was counted.
    pub protocol: Protocol,
    /// In the order in which they were met.
    pub programs: Vec<Program>,
}
