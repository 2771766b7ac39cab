//! What a cause is.

use fathomp_predict::RegionPrediction;
use fathomp_types::{text, units};
use serde::Serialize;

/// Causes below this part of the time are not worth a word.
pub const WORTH_SAYING: f64 = 0.03;

/// A reason why a program does not run faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Time outside all regions, on one thread.
    SerialPart,
    /// One thread works inside a region and the others wait.
    SerialInRegion,
    /// Threads have unequal work.
    UnequalWork,
    /// Threads have unequal numbers of iterations.
    UnequalIterations,
    /// Some threads take the page faults.
    UnequalFaults,
    /// Fewer pieces of work than threads, or not many more.
    FewPieces,
    /// The team has a size of its own, whatever the program is given.
    FixedTeam,
    /// Executions of a region hold too little work for a team.
    ShortRegions,
    /// Loops inside a region hold too little work for their barriers.
    ShortLoops,
    /// Chunks hold too little work.
    SmallChunks,
    /// Tasks hold too little work.
    SmallTasks,
    /// Tasks wait for each other by their dependences.
    DependentTasks,
    /// The runtime's other work.
    Overhead,
    /// Critical sections.
    Critical,
    /// What threads combine at the end of a loop.
    Reduction,
    /// Locks.
    Lock,
    /// Ordered constructs.
    Ordered,
    /// Threads write different bytes of one cache line.
    FalseSharing,
    /// Threads write the same bytes, or update them atomically.
    TrueSharing,
    /// Computing takes longer with more threads: by shared cache lines, memory
    /// bandwidth, or both, which the recordings do not tell apart.
    SharedLinesOrBandwidth,
    /// Computing takes longer than memory bandwidth could explain: cache lines are
    /// shared.
    SharedLines,
    /// Computing takes longer with more threads, and nothing that was looked at explains it.
    Unexplained,
    /// Memory bandwidth, caches, or processors that share a core: no shared lines.
    Bandwidth,
    /// Functions of libraries take longer: they take locks or write what threads share.
    Library,
    /// The program's own threads share processors.
    Oversubscription,
    /// A quota on processor time holds threads back.
    Quota,
    /// Sleep, files, sockets, locks of the program's own.
    Blocked,
    /// Page faults.
    PageFaults,
    /// Reading and writing files.
    Io,
    /// Calls of MPI.
    Mpi,
    /// A rank of an MPI program works longer than the others.
    UnequalRanks,
    /// A rank takes longer than the others outside of MPI, by so little that its processors may be to
    /// blame.
    UnequalOrSlowerRanks,
    /// Ranks wait for the last in calls that need all.
    LastRank,
    /// Ranks wait for messages that are sent late,
    LateSender,
    /// for others to be ready to receive,
    LateReceiver,
    /// for the root of a collective call,
    LateRoot,
    /// or as the root for the last.
    EarlyRoot,
    /// Messages of MPI that take long for their bytes.
    SmallMessages,
    /// Messages of MPI whose bytes take long.
    LargeMessages,
    /// Threads of a rank call MPI at the same time and take turns there.
    MpiTurns,
    /// Pages and messages between nodes.
    Communication,
    /// Atomic instructions that go to other nodes.
    NodeAtomics,
    /// The cost of recording.
    Recording,
    /// Other programs took processors.
    OtherPrograms,
    /// Processors compute slower when several do at once: they share cores, lower their
    /// clock frequency, or a virtual machine's host gives their time to others.
    SlowerProcessors,
}

impl Kind {
    /// Short name for a table.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::SerialPart => "serial part",
            Self::SerialInRegion => "serial work inside",
            Self::UnequalWork => "unequal work",
            Self::UnequalIterations => "unequal numbers of iterations",
            Self::UnequalFaults => "page faults of some threads",
            Self::FewPieces => "fewer pieces of work than threads",
            Self::FixedTeam => "team of fixed size",
            Self::ShortRegions => "regions too short",
            Self::ShortLoops => "loops too short for their barriers",
            Self::SmallChunks => "chunks too small",
            Self::SmallTasks => "tasks too small",
            Self::DependentTasks => "tasks that depend on each other",
            Self::Overhead => "construct overhead",
            Self::Critical => "critical sections",
            Self::Reduction => "reductions",
            Self::Lock => "locks",
            Self::Ordered => "ordered constructs",
            Self::FalseSharing => "false sharing",
            Self::TrueSharing => "shared cache lines",
            Self::SharedLinesOrBandwidth => "memory bandwidth or shared cache lines",
            Self::SharedLines => "shared cache lines",
            Self::Unexplained => "computing that takes longer with more threads",
            Self::Bandwidth => "memory bandwidth, caches or shared cores",
            Self::Library => "a lock or shared data in a library",
            Self::Oversubscription => "threads share processors",
            Self::Quota => "quota on processor time",
            Self::Blocked => "blocked",
            Self::PageFaults => "page faults",
            Self::Io => "input and output",
            Self::Mpi => "MPI",
            Self::UnequalRanks => "unequal work of ranks",
            Self::UnequalOrSlowerRanks => "unequal work of ranks, or slower processors",
            Self::LastRank => "last rank",
            Self::LateSender => "late sender",
            Self::LateReceiver => "late receiver",
            Self::LateRoot => "late root",
            Self::EarlyRoot => "early root",
            Self::SmallMessages => "too many small messages",
            Self::LargeMessages => "large messages",
            Self::MpiTurns => "threads that take turns in MPI",
            Self::Communication => "pages and messages between nodes",
            Self::NodeAtomics => "atomics between nodes",
            Self::Recording => "cost of recording",
            Self::OtherPrograms => "other programs",
            Self::SlowerProcessors => "slower processors",
        }
    }

    /// Only a look at what threads share, and where they are, tells more.
    #[must_use]
    pub const fn is_untold(self) -> bool {
        matches!(self, Self::SharedLines | Self::SharedLinesOrBandwidth)
    }

    /// The program is not to blame.
    #[must_use]
    pub const fn is_circumstance(self) -> bool {
        matches!(
            self,
            Self::Recording | Self::OtherPrograms | Self::SlowerProcessors
        )
    }
}

/// What a cause rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Counts, which other programs cannot change.
    Counts,
    /// Times, in which other programs may have had a part.
    Times,
}

/// What a cause costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// With so many threads.
    pub threads: u32,
    /// Of the program's wall time.
    pub ns: f64,
    /// As a fraction of it, 0 to 1.
    pub share: f64,
}

impl Cost {
    /// A cost bounded by the whole time; nothing if either cannot be.
    pub(crate) fn new(threads: u32, ns: f64, whole_ns: f64) -> Self {
        let sane = |ns: f64| if ns.is_finite() { ns.max(0.0) } else { 0.0 };
        let whole_ns = sane(whole_ns);
        let ns = sane(ns).min(whole_ns);
        Self {
            threads,
            ns,
            share: if whole_ns > 0.0 { ns / whole_ns } else { 0.0 },
        }
    }
}

/// A reason why the program does not run faster, and what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// What it is.
    pub kind: Kind,
    /// The same for a table: [`Kind::title`] or, where it is known, more exactly.
    pub title: String,
    /// Key of the region it is in; none for the program as a whole.
    pub region: Option<String>,
    /// "region solver.c:12" or "the program".
    pub place: String,
    /// The numbers that speak for it: a clause without capital and full stop.
    pub evidence: String,
    /// What it rests on.
    pub basis: Basis,
    /// In the recording that is explained.
    pub measured: Cost,
    /// At the largest thread count predicted.
    pub predicted: Option<Cost>,
    /// The larger of the two as a fraction of its region's own time; of the program's if
    /// it is in no region.
    pub region_share: f64,
    /// One thing to do: a sentence.
    pub action: String,
}

impl Cause {
    /// Takes up a cause of the same kind and place.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.evidence = format!("{}; {}", self.evidence, other.evidence);
        self.measured.ns += other.measured.ns;
        self.measured.share = (self.measured.share + other.measured.share).min(1.0);
        self.region_share = (self.region_share + other.region_share).min(1.0);
    }

    /// "Unequal work in region solver.c:12: ... It costs ...".
    #[must_use]
    pub fn sentence(&self) -> String {
        let place = match &self.region {
            Some(_) => format!(" in {}", self.place),
            None => String::new(),
        };
        let what = text::sentence(&format!("{}{place}: {}", self.title, self.evidence));
        format!("{what} {}", costs(&[self]))
    }

    /// The larger of the two costs, as a fraction of the time.
    #[must_use]
    pub fn share(&self) -> f64 {
        let predicted = self.predicted.map_or(0.0, |cost| cost.share);
        self.measured.share.max(predicted)
    }
}

/// What causes cost together, as a sentence: where it was measured, and where it is
/// predicted. Nothing for no causes.
#[must_use]
pub fn costs(causes: &[&Cause]) -> String {
    let Some(first) = causes.first() else {
        return String::new();
    };
    let sum = |of: fn(&Cause) -> f64| causes.iter().map(|cause| of(cause)).sum::<f64>().min(1.0);
    let measured = format!(
        "{} of the time with {}",
        units::percent(sum(|cause| cause.measured.share)),
        units::plural(first.measured.threads.into(), "thread")
    );
    let predicted = first
        .predicted
        .filter(|cost| cost.threads > first.measured.threads)
        .map(|cost| {
            let share = sum(|cause| cause.predicted.map_or(0.0, |cost| cost.share));
            format!(
                ", as predicted {} with {}",
                units::percent(share),
                cost.threads
            )
        });
    format!("It costs {measured}{}.", predicted.unwrap_or_default())
}

/// All causes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The most expensive first; circumstances (recording, other programs) last.
    pub causes: Vec<Cause>,
}

impl Diagnosis {
    /// The causes that lie in the program and are worth a word, most expensive first.
    pub fn of_program(&self) -> impl Iterator<Item = &Cause> {
        self.causes
            .iter()
            .filter(|cause| !cause.kind.is_circumstance() && cause.share() >= WORTH_SAYING)
    }

    /// What the machine, other programs or the recording cost, if that is worth a word and
    /// more than any cause in the program.
    #[must_use]
    pub fn circumstance(&self) -> Option<&Cause> {
        let all = self.causes.iter();
        let most = all.max_by(|a, b| a.share().total_cmp(&b.share()))?;
        (most.kind.is_circumstance() && most.share() >= WORTH_SAYING).then_some(most)
    }

    /// The most expensive cause in the region with this key, if any is worth a word
    /// there. Of what a region costs by its own time, so that small regions have
    /// causes, too.
    #[must_use]
    pub fn of_region(&self, key: &str) -> Option<&Cause> {
        self.causes
            .iter()
            .filter(|cause| cause.region_share >= WORTH_SAYING)
            .find(|cause| cause.region.as_deref() == Some(key) && !cause.kind.is_circumstance())
    }

    /// "region solver.c:12 stops at 3 threads: fewer pieces of work than threads".
    #[must_use]
    pub fn of_prediction(&self, region: &RegionPrediction) -> String {
        match self.of_region(&region.key) {
            Some(cause) => format!("{}: {}", region.sentence, cause.title),
            None => region.sentence.clone(),
        }
    }
}
