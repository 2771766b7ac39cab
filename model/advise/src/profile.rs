//! What the model knows of a region: numbers alone, so that it can be kept and asked again.

use crate::work::Work;
use serde::{Deserialize, Serialize};

/// One region, per execution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its measured time with the fewest threads that were recorded.
    #[serde(default)]
    pub timed: Option<Timed>,
    /// Whether that was on a machine of the kind that is asked about, so that its memory
    /// bounds what was measured.
    #[serde(default)]
    pub same_machine: bool,
    /// How its work divides, if it was scanned and its trips are known.
    #[serde(default)]
    pub work: Option<Work>,
    /// What it asks of memory, if it was scanned and its trips are known.
    #[serde(default)]
    pub demand: Option<Demand>,
    /// What a recording shows of how its work divides.
    #[serde(default)]
    pub seen: Seen,
    /// Time of an execution as the model of recordings with several numbers of threads has
    /// it; empty with recordings of one.
    #[serde(default)]
    pub curve: Vec<Modelled>,
    /// Numbers of threads that it was recorded with.
    #[serde(default)]
    pub measured_counts: u32,
    /// Whether its words are those of an execution, not assumed.
    #[serde(default)]
    pub facts: bool,
    /// Part of its accesses and loops that were understood, by weight.
    #[serde(default)]
    pub understood: f64,
    /// Whether other programs took part of the time that was measured.
    #[serde(default)]
    pub disturbed: bool,
}

/// A measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Threads of the team, on average.
    pub threads: f64,
    /// From fork to join.
    pub wall_ns: f64,
    /// In application code, all threads together.
    pub computing_ns: f64,
    /// Reading and writing files or blocked, mean over threads.
    pub blocked_ns: f64,
    /// Executions measured.
    pub executions: u64,
    /// Relative standard error of the time.
    pub error: f64,
}

/// What an execution asks of memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Bytes between memory and the last cache, all threads together, by threads of the
    /// team; ascending. Copying a byte counts as two, as in the machine's bandwidth.
    pub bytes: Vec<(u32, f64)>,
    /// Part of the lines that are fetched one after the other, each waited for: indirect
    /// accesses and strides beyond a page.
    pub latency: f64,
    /// Bytes of data that it touches.
    pub footprint: f64,
    /// Relative uncertainty of the bytes, as a standard deviation of their logarithm.
    pub uncertain: f64,
}

impl Demand {
    /// Bytes with so many threads: those of the nearest number that is known.
    #[must_use]
    pub fn bytes_at(&self, threads: u32) -> f64 {
        let nearest = self
            .bytes
            .iter()
            .min_by_key(|(known, _)| known.abs_diff(threads));
        nearest.map_or(0.0, |(_, bytes)| bytes.max(0.0))
    }
}

impl Profile {
    /// What one thread asks of memory in a second, if that is certain within a factor.
    #[must_use]
    pub fn asks_bytes_per_s(&self) -> Option<f64> {
        let demand = self
            .demand
            .as_ref()
            .filter(|demand| demand.uncertain < 1.0)?;
        let timed = self
            .timed
            .filter(|timed| timed.threads < 1.5 && timed.computing_ns > 0.0)?;
        Some(demand.bytes_at(1) / timed.computing_ns * 1e9)
    }
}

/// What a recording shows of how the work of a region divides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Pieces that its work comes in, if they are few: constructs, chunks, tasks.
    #[serde(default)]
    pub pieces: Option<f64>,
    /// Longest over mean application time of its threads, if it ran with several, and
    /// their number.
    #[serde(default)]
    pub uneven: Option<(u32, f64)>,
    /// Critical sections and locks taken in an execution.
    #[serde(default)]
    pub mutexes: f64,
    /// Barriers inside that a thread passes in an execution.
    #[serde(default)]
    pub barriers: f64,
    /// Chunks handed out on request in an execution.
    #[serde(default)]
    pub chunks: f64,
}

/// A time that was measured, or modelled from times measured around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Modelled {
    /// Threads.
    pub threads: u32,
    /// Time of an execution, nanoseconds.
    pub time_ns: f64,
    /// Lower end of its interval.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
    /// Whether more threads than were recorded.
    pub beyond: bool,
    /// What costs most.
    pub dominating: crate::advice::Term,
    /// Share of the time that takes.
    pub share: f64,
}
