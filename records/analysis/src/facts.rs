//! The result of an analysis: plain data for reports, exports and predictions.
//!
//! Units are last in names; `_ns` is nanoseconds, relative to the start of the
//! first process where it is a moment. Fractions are 0 to 1. Fields are only
//! ever added; a change of meaning raises [`VERSION`].

mod dsm;
pub(crate) mod foreign_recorders;
mod iterations;
mod mpi;
mod places;
pub(crate) mod processors;
mod teams;
mod timeline;
mod times;
mod waits;
mod whole;
mod work;

pub use dsm::{Dsm, PhaseShare, RegionDsm};
pub use foreign_recorders::ForeignRecorderFacts;
pub(crate) use iterations::either;
pub use iterations::{ThreadTrips, Trips, UnknownIterations};
pub use mpi::{MpiCalls, MpiFacts};
pub use places::{Lines, Place};
pub use processors::Crowded;
pub use teams::Decided;
pub use timeline::{Segment, Timeline, TimelineThread};
pub use times::Times;
pub use waits::BarrierWaitCauses;
pub use whole::{Intrusion, Oversubscription};
pub use work::{PieceKind, Pieces, Work};

use fathomp_trace::model::{Machine, Output, Pace, RunHost, Sharing, SiteKind};
use fathomp_trace::record::{Decider, LoopKind};
use fathomp_trace::stack::StackOverflow;
use fathomp_trace::state::State;
use fathomp_types::Ending;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name of the schema in JSON.
pub const SCHEMA: &str = "fathomp.analysis";
/// Version of the schema in JSON.
pub const VERSION: u32 = 1;

/// Everything known about one recording.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// What ran, where, how it ended.
    pub program: ProgramFacts,
    /// From the start of the first process to the end of the last.
    pub wall_ns: u64,
    /// Threads the efficiencies refer to: as many as the program was given, or
    /// more if more lived at the same time for 5 % of the wall time; if it is
    /// unknown how many it was given, the most that lived at the same time.
    pub threads: u32,
    /// Largest team of an outermost region; 1 if there was none.
    pub team_size: u32,
    /// Time of all threads per state.
    pub states: Times,
    /// Efficiencies of the whole program.
    pub efficiency: Efficiency,
    /// Wall time with at least one outermost region running, as a fraction of
    /// the wall time.
    pub parallel_time_fraction: f64,
    /// Application code inside regions, as a fraction of all application code.
    pub parallel_work_fraction: f64,
    /// Counters of all threads.
    pub counts: Counts,
    /// Sharing memory between nodes, of all threads; none if there was one
    /// node.
    pub dsm: Option<Dsm>,
    /// Processes, in order of their start.
    pub processes: Vec<ProcessRow>,
    /// Threads, by process and number.
    pub threads_seen: Vec<ThreadRow>,
    /// The serial part first, then parallel regions by decreasing time.
    pub regions: Vec<Region>,
    /// Worksharing loops, by decreasing time.
    pub loops: Vec<LoopRow>,
    /// Places where threads waited long, by decreasing time. Only waits long
    /// enough to be recorded one by one are in it.
    pub waits: Vec<WaitRow>,
    /// Calls of MPI; none if there were none, or nobody stood in front of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpi: Option<MpiFacts>,
    /// More threads at work than processors for them: the whole program's first,
    /// then those of threads bound to some of the processors.
    pub crowds: Vec<Oversubscription>,
    /// Threads over time.
    pub timeline: Timeline,
    /// What the recording itself cost.
    pub intrusion: Intrusion,
    /// What is missing or doubtful, worst first.
    pub problems: Vec<Problem>,
}

/// What ran.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProgramFacts {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Last part of the program's path; what to call it.
    pub name: String,
    /// Working directory.
    pub directory: String,
    /// Variables that matter to OpenMP.
    pub environment: BTreeMap<String, String>,
    /// The machine.
    pub machine: Machine,
    /// OpenMP runtimes observed.
    pub runtimes: Vec<String>,
    /// Those of them that were watched from outside, by process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign_recorders: Vec<ForeignRecorderFacts>,
    /// Version of fathomp that recorded.
    pub recorded_by: String,
    /// Start, nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// Threads it was given: as asked of the recorder, else `OMP_NUM_THREADS`.
    pub threads_asked: Option<u32>,
    /// Where it calls `omp_set_num_threads`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sets_threads_at: Vec<String>,
    /// Processes asked for.
    pub nodes: u32,
    /// The hosts on which they ran, if that is more than one; the first is `machine`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RunHost>,
    /// How they share memory, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// How it ended; none if that is unknown.
    pub outcome: Option<Ending>,
    /// Time at its end, if somebody stopped it, in which no region began or ended and no thread came
    /// to a barrier. None if that is little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub still_ns: Option<u64>,
    /// What it wrote to standard output; none if that is unknown.
    pub output: Option<Output>,
    /// A thread's stack ran out, which ended a process of it.
    pub stack_overflow: Option<StackOverflow>,
    /// Fraction of the usable processors' time that other programs took
    /// meanwhile; none if that is unknown.
    pub others_used: Option<f64>,
    /// Processors' worth of time that a control group allowed; none if there was no quota.
    pub quota_processors: Option<f64>,
    /// Time for which that quota held threads back, all together; none if unknown.
    pub throttled_ns: Option<u64>,
    /// Processor time of all its processes and all their threads, those that
    /// serve other nodes included; none if that is unknown.
    pub processor_ns: Option<u64>,
    /// How fast processors computed before and after it; none if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// More threads than processors on purpose, to see how work divides among them:
    /// times say nothing.
    pub rehearsal: bool,
}

/// A process that used OpenMP.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessRow {
    /// Node of a cluster run; 0 otherwise.
    pub node: u16,
    /// Operating-system process number.
    pub pid: u32,
    /// Program.
    pub executable: String,
    /// Name and version of the OpenMP runtime.
    pub runtime: String,
    /// Start.
    pub begin_ns: u64,
    /// End, or the last sign of life if `ended` is false.
    pub end_ns: u64,
    /// The process said goodbye.
    pub ended: bool,
    /// Threads known to the runtime.
    pub threads: u32,
    /// Cycles and instructions could be counted.
    pub hardware_counters: bool,
}

/// A thread.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadRow {
    /// Index into [`Analysis::processes`].
    pub process: usize,
    /// Number in its process.
    pub thread: u32,
    /// Operating-system thread number.
    pub os_id: u32,
    /// It encountered outermost regions (or never took part in one): its time
    /// outside regions is serial computing. Any other is a member of the pool.
    pub encountering: bool,
    /// First sign of life; for the first thread the start of its process.
    pub begin_ns: u64,
    /// Last sign of life; for the first thread the end of its process.
    pub end_ns: u64,
    /// Time per state over its life.
    pub states: Times,
    /// Counters over its life.
    pub counts: Counts,
    /// Node of a cluster run that it was on; 0 otherwise.
    pub node: u16,
    /// Sharing memory between nodes, over its life.
    pub dsm: Option<Dsm>,
    /// Records lost because its ring was full.
    pub dropped: u64,
}

/// A parallel region, or the serial part.
#[derive(Clone, Debug, Serialize)]
pub struct Region {
    /// Identity across recordings of the same program: module and addresses.
    pub key: String,
    /// Short name for tables, unique in this analysis.
    pub name: String,
    /// Where it is in the source.
    pub place: Place,
    /// From its directive to its last line; none if that could not be found out.
    pub lines: Option<Lines>,
    /// [`SiteKind::Serial`], [`SiteKind::Parallel`] or [`SiteKind::Teams`].
    pub kind: SiteKind,
    /// Smallest nesting level seen: 1 is an outermost region, 0 the serial part.
    pub level: u32,
    /// Keys of regions it was encountered in.
    pub parents: Vec<String>,
    /// Times it was executed. For the serial part: gaps between regions.
    pub instances: u64,
    /// Threads in the smallest and largest team.
    pub team_size_min: u32,
    /// See `team_size_min`.
    pub team_size_max: u32,
    /// Who decided on the size of its teams; empty if that is not told.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub deciders: BTreeMap<Decider, Decided>,
    /// Threads that encountered it.
    pub encountering_threads: u32,
    /// Executions of it by different encountering threads overlapped in time.
    pub concurrent: bool,
    /// Sum of the lengths of its executions: for the serial part, the time of
    /// the first thread of each process outside regions.
    pub wall_ns: u64,
    /// The same over executions that were outermost (level 1).
    pub outermost_ns: u64,
    /// Time with at least one execution running, as a fraction of the program's wall
    /// time.
    pub share: f64,
    /// Lengths of executions.
    pub length: Spread,
    /// Time per state summed over threads, without nested regions.
    pub states: Times,
    /// The same with the nested regions encountered inside it, on all threads.
    pub inclusive: Times,
    /// Mean over its executions' threads of time waiting because others
    /// computed longer, summed over executions: longest minus mean application
    /// time. Includes serial code inside the region (`single`, `master`).
    pub imbalance_ns: u64,
    /// Mean time its threads waited for each other at barriers and for tasks,
    /// summed over executions, by what the thread that waited least did meanwhile
    /// more than the others: [`State::Compute`] is imbalance of work.
    pub waited_for: Times,
    /// What even the thread that waited least waited so: what barriers cost by
    /// themselves, or threads that were late in turn.
    pub waited_together_ns: u64,
    /// Pieces its work came in, and threads that found some.
    pub work: Work,
    /// Which threads computed longest, and how the others compare.
    pub unevenness: Unevenness,
    /// Efficiencies of this region over its own executions.
    pub efficiency: Efficiency,
    /// Worksharing loops met, summed over threads.
    pub loops: u64,
    /// Chunks run, where the ABI shows them.
    pub chunks: u64,
    /// Iterations run, where the ABI shows them.
    pub iterations: u64,
    /// Iterations of loops that threads divide by the code, without asking the runtime
    /// (`schedule(static)`); none if nothing is known of them.
    pub trips: Option<Trips>,
    /// Executions of which iterations of such loops are not known; none if of none.
    pub unknown_iterations: Option<UnknownIterations>,
    /// Explicit tasks created.
    pub tasks_created: u64,
    /// Explicit tasks run.
    pub tasks_run: u64,
    /// Of these, tasks that a clause (`if`, `final`) had their creator run before it went on;
    /// not known, and 0, on other runtimes.
    pub tasks_undeferred: u64,
    /// Of the tasks created, those that had to wait for others by their `depend` clauses; not
    /// known, and 0, on other runtimes.
    pub tasks_dependent: u64,
    /// Time that threads waited at the end of `single` constructs whose blocks another one ran,
    /// summed over threads; not known, and 0, on other runtimes.
    pub single_wait_ns: u64,
    /// Critical sections entered and locks taken, whether waited for or not.
    pub mutexes_taken: u64,
    /// Times a thread waited, per state, summed over threads.
    pub wait_counts: BTreeMap<State, u64>,
    /// Counters, attributed in proportion to time where one reading covers
    /// several regions.
    pub counts: Counts,
    /// Sharing memory between nodes; none if there was one node.
    pub dsm: Option<RegionDsm>,
    /// Why its threads waited at barriers; none if there was one node, or they did not.
    pub barrier_wait_causes: Option<BarrierWaitCauses>,
    /// How far times can be trusted.
    pub confidence: Confidence,
    /// Per thread, by process and number.
    pub threads: Vec<ThreadShare>,
}

impl Region {
    /// Iterations of its worksharing loops, those that the runtime dealt and those that
    /// threads divided by the code; none if it has neither, or of some they are not known.
    #[must_use]
    pub fn all_iterations(&self) -> Option<u64> {
        if self.unknown_iterations.is_some() {
            return None;
        }
        let divided = self.trips.as_ref().map(|trips| trips.iterations);
        either(self.iterations, divided)
    }

    /// Of `thread`, iterations that it took by the code; none if they are not known.
    #[must_use]
    pub fn divided_iterations(&self, thread: &ThreadShare) -> Option<u64> {
        let number = thread.thread_num?;
        let trips = self.trips.as_ref()?;
        let own = trips.threads.iter().find(|one| one.thread_num == number)?;
        // Another thread may have had the same number in other executions.
        let same = |one: &&ThreadShare| one.thread_num == Some(number);
        let alone = self.threads.iter().filter(same).count() == 1;
        (alone && self.unknown_iterations.is_none()).then_some(own.iterations)
    }

    /// Of `thread`, as [`all_iterations`](Self::all_iterations).
    #[must_use]
    pub fn iterations_of(&self, thread: &ThreadShare) -> Option<u64> {
        let divided = self.divided_iterations(thread);
        let known = self.trips.is_none() || divided.is_some();
        if self.unknown_iterations.is_some() || !known {
            return None;
        }
        either(thread.iterations, divided)
    }
}

/// How far the times of a region can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Every execution was recorded by all its threads.
    Complete,
    /// Some executions were recorded as sums: lengths of single executions
    /// and fork times are averages.
    Merged,
    /// Records of some threads are missing: waits were completed from what
    /// there is.
    Incomplete,
}

/// A thread's share of a region.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadShare {
    /// Index into [`Analysis::processes`].
    pub process: usize,
    /// Number of the thread in its process.
    pub thread: u32,
    /// OpenMP thread number, if it was the same in all executions.
    pub thread_num: Option<u32>,
    /// Executions it took part in. For the serial part: its gaps.
    pub instances: u64,
    /// Time per state, without nested regions.
    pub states: Times,
    /// Worksharing loops met.
    pub loops: u64,
    /// Chunks run.
    pub chunks: u64,
    /// Iterations run.
    pub iterations: u64,
    /// Explicit tasks created.
    pub tasks_created: u64,
    /// Explicit tasks run.
    pub tasks_run: u64,
    /// Counters, attributed as in [`Region::counts`].
    pub counts: Counts,
    /// Its floating-point environment in most executions: bits of
    /// `fathomp_sys::float::marks`.
    pub floats: u8,
    /// Node of a cluster run that it was on; 0 otherwise.
    pub node: u16,
    /// Sharing memory between nodes.
    pub dsm: Option<Dsm>,
}

/// Distribution of the lengths of a region's executions.
///
/// Merged executions count with their mean length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Executions.
    pub count: u64,
    /// Sum.
    pub sum_ns: u64,
    /// Shortest.
    pub min_ns: u64,
    /// Half are shorter.
    pub median_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// Standard deviation.
    pub sd_ns: f64,
}

/// How application time differs between the threads of an execution, over the
/// executions by teams of several threads that all members recorded one by
/// one. It tells serial code inside a region from unequal shares of a loop,
/// which look alike in sums.
///
/// The excess of an execution is its longest minus its mean application time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Unevenness {
    /// Executions this is about.
    pub executions: u64,
    /// Threads in the largest team.
    pub team_size: u32,
    /// Sum of the longest application times.
    pub longest_ns: f64,
    /// Sum of the excesses.
    pub excess_ns: f64,
    /// Standard deviation of the excess from execution to execution.
    pub excess_sd_ns: f64,
    /// The part of `excess_ns` from executions in which OpenMP thread 0
    /// computed longest.
    pub first_ns: f64,
    /// The same for the thread number with most of it.
    pub most_ns: f64,
    /// Sum of the excesses when the longest thread of every execution is left
    /// out: near 0 if all the others do alike.
    pub rest_ns: f64,
}

/// Efficiencies as the POP methodology defines them, 1 is perfect.
///
/// With `u` the application time per thread, `T` the wall time and `p` the
/// threads: parallel efficiency = `sum u / (p T)` = load balance x
/// communication efficiency; load balance = `mean u / max u`; communication
/// efficiency = `max u / T` = serialisation x transfer efficiency. Between
/// threads, "transfer" is the runtime's own work on the thread with the most
/// application time, "serialisation" its waiting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Efficiency {
    /// Application time over all processor time.
    pub parallel: f64,
    /// Mean over longest application time.
    pub load_balance: f64,
    /// Longest application time over wall time.
    pub communication: f64,
    /// What is lost to waiting on the busiest thread.
    pub serialisation: f64,
    /// What is lost to the runtime on the busiest thread.
    pub transfer: f64,
    /// Whole program only: what is left of 1 after threads idled outside
    /// regions. `parallel = serial_region + parallel_region - 1`.
    pub serial_region: f64,
    /// Whole program only: what is left of 1 after time lost inside regions.
    pub parallel_region: f64,
}

/// Counters. Attribution makes fractions; `None` where the machine did not
/// allow counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Page faults served without I/O.
    pub minor_faults: f64,
    /// Page faults that waited for I/O.
    pub major_faults: f64,
    /// Context switches because the thread waited.
    pub voluntary_switches: f64,
    /// Context switches because the thread was preempted.
    pub involuntary_switches: f64,
    /// CPU cycles in user mode.
    pub cycles: Option<f64>,
    /// Instructions retired in user mode.
    pub instructions: Option<f64>,
    /// Time on a processor.
    pub processor_ns: Option<f64>,
}

/// A worksharing loop (or `sections`, or taskloop).
#[derive(Clone, Debug, Serialize)]
pub struct LoopRow {
    /// Identity across recordings of the same program.
    pub key: String,
    /// Short name, unique in this analysis.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Keys of the regions it ran in.
    pub regions: Vec<String>,
    /// How iterations were dealt.
    pub kind: LoopKind,
    /// An `ordered` clause was present.
    pub ordered: bool,
    /// Chunk size asked for, smallest and largest; 0 if none.
    pub chunk_min: u64,
    /// See `chunk_min`.
    pub chunk_max: u64,
    /// Times a thread ran its share.
    pub shares: u64,
    /// Time in the loop, waiting at its end not included, all threads.
    pub time_ns: u64,
    /// Iterations, all threads.
    pub iterations: u64,
    /// Chunks, all threads.
    pub chunks: u64,
    /// Mean over longest time of its threads.
    pub load_balance: f64,
    /// Per thread, by process and number.
    pub threads: Vec<LoopShareRow>,
}

/// A thread's share of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct LoopShareRow {
    /// Index into [`Analysis::processes`].
    pub process: usize,
    /// Number of the thread in its process.
    pub thread: u32,
    /// Times it ran its share.
    pub shares: u64,
    /// Time in the loop.
    pub time_ns: u64,
    /// Iterations.
    pub iterations: u64,
    /// Chunks.
    pub chunks: u64,
}

/// A place where threads waited: the construct if the recorder knew it, else
/// the region (or the serial part) they waited in.
#[derive(Clone, Debug, Serialize)]
pub struct WaitRow {
    /// Identity across recordings of the same program.
    pub key: String,
    /// Short name, unique in this analysis.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// What for.
    pub state: State,
    /// Waits recorded one by one.
    pub count: u64,
    /// Their time, all threads.
    pub time_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Numbers may be wrong.
    Error,
    /// Numbers are incomplete or estimated.
    Warning,
    /// Good to know.
    Note,
}

/// Something missing or doubtful.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad.
    pub severity: Severity,
    /// One sentence for the user.
    pub sentence: String,
}
