//! What one thread says: the records of its stream, decoded.

use crate::dsm::DsmCounts;
use crate::state::{PerState, State};
use fathomp_regions::DryLoop;
use fathomp_types::{InstanceId, SiteId, Ticks};
use serde::{Deserialize, Serialize};

/// One record of a thread's stream. Long ones are boxed: a recording has millions of records, and
/// most of them are short.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The thread left a parallel region.
    Instance(Box<Instance>),
    /// The thread waited, long enough to be worth a line in a timeline.
    Interval(Interval),
    /// The thread finished its share of a worksharing loop.
    Loop(LoopShare),
    /// Operating-system and hardware counters were read.
    Counters(Box<CounterReading>),
    /// The thread left a barrier of the nodes.
    Phase(Box<Phase>),
    /// The thread called MPI.
    Message(Message),
    /// A message of the call of MPI that follows.
    Transfer(Transfer),
}

impl From<Instance> for Record {
    fn from(instance: Instance) -> Self {
        Self::Instance(Box::new(instance))
    }
}

impl From<CounterReading> for Record {
    fn from(reading: CounterReading) -> Self {
        Self::Counters(Box::new(reading))
    }
}

impl From<Phase> for Record {
    fn from(phase: Phase) -> Self {
        Self::Phase(Box::new(phase))
    }
}

impl Record {
    /// From when to when.
    #[must_use]
    pub fn span(&self) -> (Ticks, Ticks) {
        match self {
            Self::Instance(one) => (one.begin, one.end),
            Self::Interval(one) => (one.begin, one.end),
            Self::Loop(one) => (one.begin, one.end),
            Self::Counters(one) => (one.since, one.at),
            Self::Phase(one) => (one.begin, one.end),
            Self::Message(one) => (one.begin, one.end),
            Self::Transfer(one) => (one.at, one.at),
        }
    }

    /// Where in the code.
    #[must_use]
    pub fn site(&self) -> SiteId {
        match self {
            Self::Instance(one) => one.site,
            Self::Interval(one) => one.site,
            Self::Loop(one) => one.site,
            Self::Counters(one) => one.site,
            Self::Phase(one) => one.site,
            Self::Message(one) => one.site,
            Self::Transfer(_) => SiteId::SERIAL,
        }
    }

    /// The same, to be numbered anew; none if the record has no place of its own.
    pub(crate) fn site_mut(&mut self) -> Option<&mut SiteId> {
        Some(match self {
            Self::Instance(one) => &mut one.site,
            Self::Interval(one) => &mut one.site,
            Self::Loop(one) => &mut one.site,
            Self::Counters(one) => &mut one.site,
            Self::Phase(one) => &mut one.site,
            Self::Message(one) => &mut one.site,
            Self::Transfer(_) => return None,
        })
    }
}

/// A thread's part in one execution of a parallel region, or, where
/// [`Instance::merged`] exceeds 1, the sum over several executions of the same
/// region that were joined to keep the recording small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instance {
    /// The region.
    pub site: SiteId,
    /// Which execution; of merged ones, the first.
    pub instance: InstanceId,
    /// Execution that encloses this one (nested regions); 0 if none.
    pub parent: InstanceId,
    /// Executions summed here, at least 1.
    pub merged: u32,
    /// OpenMP thread number in the team.
    pub thread_num: u32,
    /// Threads in the team (of merged ones, the largest).
    pub team_size: u32,
    /// Nesting level, 1 for an outermost region.
    pub level: u32,
    /// When the encountering thread asked for the team.
    pub fork: Ticks,
    /// When this thread began the region's code.
    pub begin: Ticks,
    /// When this thread was through with the region: for the encountering
    /// thread after the implicit barrier, for others on arriving at it. The
    /// analysis completes their barrier time from the encountering thread's end.
    pub end: Ticks,
    /// Sum of `end - begin` over the merged executions.
    pub busy: Ticks,
    /// Time per state inside `busy`; [`State::Compute`] is the remainder and
    /// is filled in by the reader.
    pub states: PerState<Ticks>,
    /// Worksharing loops met.
    pub loops: u32,
    /// Chunks of loop iterations this thread ran, where the ABI shows them.
    pub chunks: u64,
    /// Loop iterations this thread ran, where the ABI shows them.
    pub iterations: u64,
    /// Explicit tasks this thread created.
    pub tasks_created: u64,
    /// Explicit tasks this thread ran.
    pub tasks_run: u64,
    /// Of these, tasks that a clause (`if`, `final`) had their creator run before it went on.
    pub tasks_undeferred: u64,
    /// Of the tasks created, those that had to wait for others by their dependences.
    pub tasks_dependent: u64,
    /// The longest of the tasks run, without what ran inside it and without its waits for
    /// others; 0 if more than [`PIECES_TIMED`] were run, or on other runtimes.
    pub longest_task: Ticks,
    /// Time this thread waited at barriers that it came to straight from `single` constructs whose
    /// blocks another thread ran.
    pub single_wait: Ticks,
    /// Times this thread waited, per state.
    pub waits: PerState<u32>,
    /// Critical sections this thread entered and locks it took, waited for or not.
    pub mutexes: u64,
    /// What sharing memory between nodes cost, if anything.
    pub dsm: Option<Box<DsmCounts>>,
    /// Who decided how many threads the team has, in the part of its thread 0.
    pub decider: Decider,
    /// The thread's floating-point environment as it began, if not the usual one: bits of
    /// [`fathomp_sys::float::marks`].
    pub floats: u8,
    /// The [`WordSet`] that the region was begun with, in the part of the team's thread 0;
    /// 0 if that is not known.
    pub set: u64,
}

/// Who decided how many threads a region has.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Decider {
    /// It is not told.
    #[default]
    Untold = 0,
    /// What the program was given: variables of the environment, or the processors.
    Environment = 1,
    /// `omp_set_num_threads`.
    Routine = 2,
    /// A `num_threads` clause.
    Clause = 3,
    /// A clause: `if` that is false, or `num_threads(1)`, which gcc passes on alike.
    One = 4,
    /// An `if` clause that is false.
    If = 5,
    /// The limit of nested active regions.
    Levels = 6,
    /// The limit of threads.
    Limit = 7,
    /// `dyn-var`: no more than processors.
    Dynamic = 8,
    /// Advice, trials, or a division of processors among programs.
    Advice = 9,
    /// The system gave no more threads.
    System = 10,
}

impl Decider {
    /// By its number; those of later versions are not told.
    #[must_use]
    pub fn from_number(number: u8) -> Self {
        const ALL: [Decider; 11] = [
            Decider::Untold,
            Decider::Environment,
            Decider::Routine,
            Decider::Clause,
            Decider::One,
            Decider::If,
            Decider::Levels,
            Decider::Limit,
            Decider::Dynamic,
            Decider::Advice,
            Decider::System,
        ];
        ALL.get(usize::from(number)).copied().unwrap_or_default()
    }
}

/// Values of the words of memory that the trips of a region's loops depend on, as a region
/// was begun with them. Noted once, however often it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordSet {
    /// Its number, from 1 on; those of nodes differ in bits 48-63.
    pub set: u64,
    /// A place where the region was begun; its function is the region's body.
    pub site: SiteId,
    /// The values, in the order of the body's words in `regions.json`; `None` of what could
    /// not be read.
    pub values: Vec<Option<i64>>,
    /// Loops whose trips a dry run found.
    pub dry: Vec<DryLoop>,
}

impl Instance {
    /// What sharing memory between nodes cost.
    #[must_use]
    pub fn dsm_counts(&self) -> DsmCounts {
        self.dsm.as_deref().copied().unwrap_or_default()
    }
}

/// What a dry run found of a loop, with the values of a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DryRun {
    /// The [`WordSet`].
    pub set: u64,
    /// What was found.
    pub found: DryLoop,
}

/// A span of time in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// What the thread did.
    pub state: State,
    /// From here
    pub begin: Ticks,
    /// to here.
    pub end: Ticks,
    /// The construct, if known.
    pub site: SiteId,
}

/// Schedule kind of a loop as the ABI shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum LoopKind {
    /// Iterations divided in advance.
    Static = 1,
    /// Chunks handed out on request.
    Dynamic = 2,
    /// Chunks of decreasing size handed out on request.
    Guided = 3,
    /// `sections`: one iteration a section.
    Sections = 4,
    /// Iterations packed into tasks.
    Taskloop = 5,
    /// The runtime does not tell.
    Untold = 6,
}

impl LoopKind {
    /// The kind with that number; none if there is no such kind.
    #[must_use]
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        [
            Self::Static,
            Self::Dynamic,
            Self::Guided,
            Self::Sections,
            Self::Taskloop,
            Self::Untold,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == number)
    }
}

/// A thread's share of one worksharing loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopShare {
    /// The loop construct.
    pub site: SiteId,
    /// Execution of the region it belongs to.
    pub instance: InstanceId,
    /// How iterations were dealt.
    pub kind: LoopKind,
    /// An `ordered` clause was present.
    pub ordered: bool,
    /// Chunk size asked for, 0 if none.
    pub chunk: u64,
    /// Iterations this thread ran.
    pub iterations: u64,
    /// Chunks this thread ran.
    pub chunks: u64,
    /// When the thread met the loop.
    pub begin: Ticks,
    /// When it had no more iterations to run.
    pub end: Ticks,
    /// The longest of the chunks; 0 if it is not known, as when there were more than
    /// [`PIECES_TIMED`].
    pub longest: Ticks,
}

/// A thread times so many chunks of a loop, and tasks of an execution, one by one; if there are
/// more, none of them holds a part of the work that bounds how many threads help.
pub const PIECES_TIMED: u64 = 1024;

/// What sharing memory between nodes cost a thread from one barrier of the nodes, or the begin
/// of the region, to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The region it was in.
    pub site: SiteId,
    /// Which execution of it.
    pub instance: InstanceId,
    /// When the thread left the barrier before, or began the region.
    pub begin: Ticks,
    /// When it left this barrier.
    pub end: Ticks,
    /// What happened meanwhile, this barrier included.
    pub dsm: DsmCounts,
}

/// A call of MPI. How long it took is in the thread's time in [`State::Communication`], too.
///
/// [`State::Communication`]: crate::state::State::Communication
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Where the program called.
    pub site: SiteId,
    /// Which function: its number in [`NAMES`](fathomp_types::mpi::NAMES).
    pub function: u16,
    /// When it was called.
    pub begin: Ticks,
    /// When it was over.
    pub end: Ticks,
    /// Bytes that were sent or, where the function only receives, that there was room for, if
    /// that is known.
    pub bytes: Option<u64>,
    /// The other rank or the root, in `MPI_COMM_WORLD`, if there is one and it was named.
    pub peer: Option<u32>,
    /// Of a collective call, the communicator, by a number that all its ranks use; 0 if it is not
    /// known.
    pub communicator: u32,
    /// All ranks of `MPI_COMM_WORLD` called it, and none was through before all had come.
    pub waits_for_all: bool,
}

/// A message that a call of MPI sends, receives or completes. Its record stands before that of the
/// call, in the same thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When this was told: before the call's end.
    pub at: Ticks,
    /// What was done, and with which message.
    pub what: fathomp_types::mpi::Transfer,
}

/// Counters of one thread since its previous reading.
///
/// Reading them is a system call, so the recorder reads at most every few tens
/// of microseconds: a reading covers everything since `since`, which may span
/// several short regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterReading {
    /// Time of the previous reading.
    pub since: Ticks,
    /// Time of this reading.
    pub at: Ticks,
    /// Region the thread was in at `at` ([`SiteId::SERIAL`] outside).
    pub site: SiteId,
    /// What was counted.
    pub counts: Counters,
}

/// Counts of one thread; `None` where the machine does not let us count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// Context switches because the thread waited.
    pub voluntary_switches: u64,
    /// Context switches because the thread was preempted.
    pub involuntary_switches: u64,
    /// CPU cycles in user mode.
    pub cycles: Option<u64>,
    /// Instructions retired in user mode.
    pub instructions: Option<u64>,
    /// Time on a processor.
    pub processor_ns: Option<u64>,
    /// Time ready to run, but without a processor.
    pub run_delay_ns: Option<u64>,
    /// Time asleep in waits of the runtime itself, from the call until the thread
    /// ran again.
    pub asleep_ns: Option<u64>,
    /// The processors it may run on, where they were looked at.
    pub allowed: Option<Allowed>,
}

/// Which processors a thread may run on, as far as a word holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Allowed {
    /// How many.
    pub count: u16,
    /// The one with the smallest number.
    pub first: u16,
    /// Equal for equal sets, and hardly ever for others.
    pub hash: u32,
}

impl Allowed {
    /// Of a set to which members are added one by one, ascending: `known` are those
    /// before `cpu`.
    #[must_use]
    pub fn with(known: Option<Self>, cpu: u32) -> Self {
        let known = known.unwrap_or(Self {
            count: 0,
            first: u16::try_from(cpu).unwrap_or(u16::MAX),
            hash: 0x811c_9dc5,
        });
        Self {
            count: known.count.saturating_add(1),
            // FNV-1a, of words in place of bytes.
            hash: (known.hash ^ cpu).wrapping_mul(0x0100_0193),
            ..known
        }
    }

    pub(crate) fn word(self) -> u64 {
        u64::from(self.count) | u64::from(self.first) << 16 | u64::from(self.hash) << 32
    }

    pub(crate) fn from_word(word: u64) -> Self {
        Self {
            count: word as u16,
            first: (word >> 16) as u16,
            hash: (word >> 32) as u32,
        }
    }
}
