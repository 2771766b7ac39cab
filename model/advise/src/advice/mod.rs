//! `advice.json`: what is recommended for each region, and why.
//!
//! Units are last in names; fractions are 0 to 1. Fields are only ever added; a change of
//! meaning raises [`VERSION`].

mod file;

pub use file::AdviceError;

use fathomp_regions::{Expr, Place};
use serde::{Deserialize, Serialize};

/// Name of the schema.
pub const SCHEMA: &str = "fathomp.advice";
/// The version written and accepted.
pub const VERSION: u32 = 1;

/// What is recommended for the regions of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// Name of the program.
    #[serde(default)]
    pub program: String,
    /// Files that hold code of the regions.
    #[serde(default)]
    pub modules: Vec<ModuleNote>,
    /// Machine that the advice is for.
    pub machine: MachineNote,
    /// Regions, those that take the most time first; without a recording in the order of
    /// the scan.
    pub regions: Vec<RegionAdvice>,
    /// Sentences that hold for all regions: what was assumed, what is missing.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A file that holds code of regions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleNote {
    /// Its path when it was scanned.
    pub path: String,
    /// Its build-id in hexadecimal; empty if it has none. Whoever applies advice compares
    /// it, and takes no advice for a module that has another.
    #[serde(default)]
    pub build_id: String,
}

/// The machine that advice is for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineNote {
    /// Its name.
    pub name: String,
    /// Cores that were considered.
    pub cores: u32,
    /// Packages (sockets or NUMA nodes) that they lie in.
    pub packages: u32,
    /// Whether its bandwidth and construct prices were measured, or are assumed.
    pub measured: bool,
}

/// What is recommended for one region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionAdvice {
    /// Its name as in recordings and reports.
    pub name: String,
    /// Where its directive stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Index into [`Advice::modules`] of the file that holds its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<usize>,
    /// Address of its body (the function that the runtime is given) in that file, as it is
    /// linked; none if the body is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// Symbol of its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// What to do: ascending in [`Step::from_trips`], the first from 0 on. An execution takes
    /// the last step whose `from_trips` is not above its trips. Never empty.
    pub steps: Vec<Step>,
    /// Trips of an execution, as an expression over the data block and the module's memory;
    /// to be evaluated with `threads` 1 and `thread` 0. They are iterations of innermost
    /// loops, all threads and loops together (those that depend on an enclosing loop with
    /// the mean of its iterations): a measure of the region's work. Without it, or where it
    /// has no value, [`RegionAdvice::advised`] holds whatever the trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trips: Option<Expr>,
    /// What is recommended for executions like those that the advice is based on.
    pub advised: Advised,
    /// What is lost by not following it.
    pub loss: Loss,
    /// Predictions, ascending in threads.
    pub points: Vec<PointAdvice>,
    /// The most threads of which each still saves what is worthwhile; none if that is above
    /// all that were asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturates_at: Option<u32>,
    /// The published static score, 0 to 1, where the region was scanned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Its share of the time of the recording's regions; 0 without one.
    #[serde(default)]
    pub weight: f64,
    /// Bytes from memory in a second that one thread asks for, if its code says so for certain;
    /// what functions of other modules ask for is not in it.
    #[serde(skip)]
    pub asks_bytes_per_s: Option<f64>,
    /// How far this may be trusted.
    pub confidence: Confidence,
    /// What it is based on.
    pub basis: Basis,
    /// Why, in a sentence.
    pub reason: String,
    /// What makes it doubtful, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// Threads for executions with at least so many trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Fewest trips (see [`RegionAdvice::trips`]) that this holds for.
    pub from_trips: u64,
    /// The same in iterations of the region's worksharing loops, all threads together
    /// (`fathomp_trips::total`), as those of the executions that the advice is based on; none
    /// if it has no such loop. It says less than trips where loops inside change, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_iterations: Option<u64>,
    /// Threads, at least 1.
    pub threads: u32,
}

/// The recommendation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advised {
    /// Threads, at least 1.
    pub threads: u32,
    /// Packages to spread them over.
    pub packages: u32,
    /// Time with one thread over time with these.
    pub gain: f64,
    /// Lower end of the gain's interval (90 %).
    pub gain_low: f64,
    /// Upper end.
    pub gain_high: f64,
}

/// Time lost by another choice, as a fraction of the advised one's time: 0.5 is half as
/// long again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// By taking all cores.
    pub all: f64,
    /// By taking one.
    pub one: f64,
}

/// A predicted time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointAdvice {
    /// Threads.
    pub threads: u32,
    /// Packages that they are spread over.
    pub packages: u32,
    /// Time of one execution in nanoseconds; where [`Basis::absolute`] is false, in units of
    /// the time with one thread.
    pub time: f64,
    /// Lower end of its interval (90 %).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Time with one thread over this.
    pub speedup: f64,
    /// What costs most of it, divided work apart.
    pub dominating: Term,
    /// Share of the time that this term takes.
    pub share: f64,
}

/// What limits a region.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// Nothing but its work, divided among the threads.
    #[default]
    Work,
    /// Bandwidth of memory.
    Bandwidth,
    /// Latency of memory: accesses that each wait for a line.
    Latency,
    /// Unequal shares.
    Imbalance,
    /// Fewer pieces of work than threads.
    Pieces,
    /// Forking, joining, barriers, handing out chunks.
    Overhead,
    /// Code that one thread executes, or that every thread executes in full.
    Serial,
    /// Critical sections and locks.
    Mutex,
    /// Atomic operations on shared variables.
    Atomics,
    /// Measured growth of computing time with threads that no other term explains.
    Growth,
}

/// How far advice may be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Something decisive is assumed.
    #[default]
    Low,
    /// The interval leaves other choices open, or part of the code is not understood.
    Medium,
    /// No choice inside the interval costs more than what is worthwhile.
    High,
}

/// What advice is based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    /// Whether the region's code was scanned.
    pub scanned: bool,
    /// Whether trips are known of an execution.
    pub facts: bool,
    /// Fewest threads of a recording that its time was measured with; 0 without one.
    pub measured_threads: u32,
    /// Numbers of threads that it was measured with.
    pub measured_counts: u32,
    /// Executions measured.
    pub executions: u64,
    /// Trips of the executions that the advice is for, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trips: Option<u64>,
    /// Iterations of the worksharing loops of those, all threads together, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Whether times are nanoseconds.
    pub absolute: bool,
}
