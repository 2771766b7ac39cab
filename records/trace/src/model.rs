//! A whole recording in memory, as the reader hands it to analysis.

use crate::foreign_recorder::ForeignRecorder;
use crate::record::{Record, WordSet};
use crate::stack::StackOverflow;
use fathomp_launch::names::NODES;
use fathomp_launch::{Cluster, Faults, Network, Protocol};
use fathomp_regions::Regions;
use fathomp_types::{Clock, ClockReading, Ending, NodeId, SiteId, ThreadId, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Everything one `fathomp record` left behind.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Who recorded what, where.
    pub meta: Meta,
    /// Processes that used OpenMP, in order of their start.
    pub processes: Vec<Process>,
    /// What the program's regions contain, if it was scanned.
    pub regions: Option<Regions>,
    /// What is missing or doubtful, each as one sentence for the user.
    pub problems: Vec<String>,
}

/// `meta.json`: the circumstances of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Version of the recording format.
    pub format: u32,
    /// Version of fathomp that recorded.
    pub fathomp: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Working directory.
    pub directory: PathBuf,
    /// `OMP_*`, `GOMP_*`, `KMP_*`, `FATHOMP_*` and `LD_*` variables.
    pub environment: BTreeMap<String, String>,
    /// The machine.
    pub machine: Machine,
    /// The OpenMP runtime that was asked for, if it is not fathomp's.
    pub runtime: Option<String>,
    /// Threads per process asked for.
    pub threads: Option<u32>,
    /// Processes asked for.
    pub nodes: u32,
    /// Ranks that `mpirun` or `srun` started together, of which this recording is one.
    pub ranks: Option<u32>,
    /// How they share memory, if there are several. Recordings of earlier versions say it in
    /// their [`environment`](Self::environment) alone; readers fill it in from there.
    pub sharing: Option<Sharing>,
    /// The hosts on which they ran, if that is more than one; the first is
    /// [`machine`](Self::machine).
    pub hosts: Vec<RunHost>,
    /// Start, nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// Wall time from start to end of the program, once it has ended.
    pub wall_ns: Option<u64>,
    /// How the program ended, once it has ended.
    pub outcome: Option<Ending>,
    /// What the program wrote to standard output, if that passed through the
    /// recorder.
    pub output: Option<Output>,
    /// Fraction of the usable processors' time that other programs took
    /// meanwhile, if that could be measured.
    pub others_used: Option<f64>,
    /// Processors' worth of time that a control group allowed, if one did.
    pub quota_processors: Option<f64>,
    /// Time for which that quota held threads back meanwhile, all threads together.
    pub throttled_ns: Option<u64>,
    /// Processor time of all the program's processes and all their threads,
    /// once it has ended.
    pub processor_ns: Option<u64>,
    /// How fast processors computed before and after the run, if that was measured.
    pub pace: Option<Pace>,
    /// The run was made with more threads than processors to see how work divides
    /// among them: its times say nothing.
    pub rehearsal: bool,
    /// Where the program's processes leave their records until they are moved
    /// here; a recorder that was killed leaves some behind.
    pub live: Option<PathBuf>,
    /// What the recorder noticed while recording, each as one sentence.
    pub problems: Vec<String>,
}

/// How fast processors compute while as many of them as a run has threads do it at once.
///
/// It is measured by fixed pieces of computing in registers, the same for all recordings made by
/// one build. Their processor time grows where processors share a core, where more of them run at
/// a lower clock frequency, and where the host of a virtual machine takes processors away without
/// saying so: none of it is the doing of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// So many processors computed at once.
    pub processors: u32,
    /// Just before the run.
    pub before: PieceTimes,
    /// Just after it.
    pub after: PieceTimes,
}

/// Processor time of each piece of computing, mean over processors, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PieceTimes {
    /// Of one that keeps a core half busy, as usual programs do.
    pub usual_ns: f64,
    /// Of one that keeps all of a core's arithmetic busy: nothing suffers more from a core that
    /// is shared.
    pub dense_ns: f64,
    /// How many times as long as the mean the slowest processor took, for the piece for which
    /// that is most: 1 where all are alike.
    pub uneven: f64,
}

impl PieceTimes {
    /// Both, the usual one first.
    #[must_use]
    pub fn both(self) -> [f64; 2] {
        [self.usual_ns, self.dense_ns]
    }
}

impl Pace {
    /// Whether it can have been measured: files may say anything.
    #[must_use]
    pub fn is_sane(&self) -> bool {
        let ends = [self.before, self.after];
        let mut times = ends.iter().flat_map(|one| one.both());
        self.processors > 0
            && times.all(|ns| ns.is_finite() && ns > 0.0)
            && ends
                .iter()
                .all(|one| one.uneven.is_finite() && one.uneven >= 1.0)
    }
}

/// A host of a run on several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunHost {
    /// As the user calls it.
    pub name: String,
    /// How many nodes ran there.
    pub nodes: u16,
    /// What it is.
    pub machine: Machine,
    /// Its counter of ticks beside that of the first host, before the program began; not of the
    /// first host itself.
    pub clock_begin: Option<ClockReading>,
    /// The same when it had ended.
    pub clock_end: Option<ClockReading>,
}

/// How the nodes of a cluster share memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sharing {
    /// How pages get from node to node.
    pub protocol: Protocol,
    /// The protocol as published: every fault and fetch counts.
    #[serde(default)]
    pub plain: bool,
    /// The network between them, if one is emulated; else this machine's memory is.
    #[serde(default)]
    pub network: Option<Network>,
    /// How they notice accesses to pages that they do not have, if that is known.
    #[serde(default)]
    pub faults: Option<Faults>,
}

impl From<&Cluster> for Sharing {
    fn from(cluster: &Cluster) -> Self {
        Self {
            protocol: cluster.protocol,
            plain: cluster.plain,
            network: cluster.network,
            faults: cluster.faults,
        }
    }
}

impl Meta {
    /// Fills in what earlier versions did not write: how nodes share memory.
    pub(crate) fn complete(&mut self) {
        if self.nodes > 1 && self.sharing.is_none() {
            let get = |name: &str| match name == NODES.name {
                true => Some(self.nodes.to_string().into()),
                false => self.environment.get(name).map(OsString::from),
            };
            // A program that is told what makes no sense does not begin.
            let cluster = Cluster::from_env(&get).ok().flatten();
            self.sharing = cluster.as_ref().map(Sharing::from);
        }
    }
}

/// Version of the recording format that this crate writes and the newest it
/// reads.
pub const FORMAT: u32 = 1;

/// What a program wrote to standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// Bytes.
    pub bytes: u64,
    /// Hash of the bytes (64-bit FNV-1a).
    pub hash: u64,
    /// The first place where it differs from what the program wrote with
    /// another number of threads, by more than times and the like.
    pub differs: Option<OutputDifference>,
}

/// Where the output of two runs differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputDifference {
    /// The line in this run's output, from 1; of a line that is missing here,
    /// in the other's.
    pub line: u64,
    /// What this run wrote there; nothing if the line is missing.
    pub here: Option<String>,
    /// What the other run wrote.
    pub there: Option<String>,
    /// Threads of the other run.
    pub other_threads: u32,
    /// All that differs are numbers, and by little: what comes of random numbers, or of sums in
    /// another order.
    pub slight: bool,
}

/// The machine a recording was made on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Processors online.
    pub cpus_online: u32,
    /// Processors the program was allowed to use.
    pub cpus_allowed: Vec<u32>,
    /// Main memory in bytes.
    pub memory_bytes: u64,
    /// Frequency governor, if the kernel shows one.
    pub governor: Option<String>,
}

impl Machine {
    /// Processors that the program could use: those it was allowed, or else those online; 0 if
    /// neither is known.
    #[must_use]
    pub fn processors(&self) -> u32 {
        match u32::try_from(self.cpus_allowed.len()).unwrap_or(u32::MAX) {
            0 => self.cpus_online,
            allowed => allowed,
        }
    }
}

/// One process of a recording.
#[derive(Clone, Debug)]
pub struct Process {
    /// Node of a cluster run; 0 otherwise. The processes of a cluster are one
    /// here: node 0's, with the threads of all.
    pub node: NodeId,
    /// Process number of node 0 if it is part of a cluster, else 0.
    pub cluster: u32,
    /// Operating-system process number.
    pub pid: u32,
    /// Program, as the kernel names it.
    pub executable: PathBuf,
    /// Ticks to time.
    pub clock: Clock,
    /// When recording began and, if the process ended properly, when it ended.
    pub begin: Ticks,
    /// See `begin`.
    pub end: Option<Ticks>,
    /// Name and version of the OpenMP runtime that was observed.
    pub runtime: String,
    /// What the recorder says of itself, if it is not part of that runtime.
    pub foreign_recorder: Option<ForeignRecorder>,
    /// Places in the code; `sites[i].id == SiteId(i)`; 0 is the serial part.
    pub sites: Vec<Site>,
    /// Threads, by [`ThreadId`].
    pub threads: Vec<Thread>,
    /// Hardware counters could be read.
    pub hardware_counters: bool,
    /// A thread's stack ran out, which ended the process.
    pub stack_overflow: Option<StackOverflow>,
    /// The processes of a cluster, which are one here; none of other processes.
    pub nodes: Vec<NodeProcess>,
    /// Values that regions were begun with, ascending by number.
    pub sets: Vec<WordSet>,
    /// Waits, loops and calls of MPI that are not among the records: the recorder could not keep up,
    /// or the recording was to stay small.
    pub details_missing: u64,
}

/// A process that is a node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeProcess {
    /// Its node.
    pub node: NodeId,
    /// Operating-system process number.
    pub pid: u32,
    /// By its own numbers of places in the code, which of [`Process::sites`] they are.
    pub sites: Vec<SiteId>,
}

/// What a site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum SiteKind {
    /// Outside all parallel regions.
    Serial = 0,
    /// A parallel region.
    Parallel = 1,
    /// A worksharing loop.
    Loop = 2,
    /// A `sections` construct.
    Sections = 3,
    /// A critical section or lock call.
    Mutex = 4,
    /// A barrier the program wrote.
    Barrier = 5,
    /// A task-creating construct.
    Task = 6,
    /// A host `teams` or `target` construct.
    Teams = 7,
    /// A call of `omp_set_num_threads`.
    Threads = 8,
    /// A call of MPI.
    Mpi = 9,
}

/// A place in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its number in this process.
    pub id: SiteId,
    /// What it is.
    pub kind: SiteKind,
    /// File the code was mapped from; empty if unknown.
    pub module: PathBuf,
    /// Address of the call that entered the construct (return address - 1),
    /// as the module's own ELF virtual address; 0 if unknown.
    pub call: u64,
    /// Address of the outlined function, likewise; 0 if there is none.
    pub function: u64,
}

/// One thread's stream.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its number in this process.
    pub id: ThreadId,
    /// Node of a cluster run that it was on; 0 otherwise.
    pub node: NodeId,
    /// Operating-system thread number.
    pub os_id: u32,
    /// First and last sign of life.
    pub begin: Ticks,
    /// See `begin`.
    pub end: Ticks,
    /// Records in the order written.
    pub records: Vec<Record>,
    /// Records that found the ring full.
    pub dropped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_recordings_say_in_their_environment_how_memory_was_shared() {
        let said = |nodes: u32, environment: &[(&str, &str)]| {
            let text = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let mut meta = Meta {
                nodes,
                environment: environment.iter().map(text).collect(),
                ..Meta::default()
            };
            meta.complete();
            meta.sharing
        };
        let home = Sharing {
            protocol: Protocol::Home,
            plain: false,
            network: None,
            faults: None,
        };
        assert_eq!(said(1, &[("FATHOMP_DSM", "home")]), None);
        assert_eq!(said(2, &[]), Some(home));
        let environment = [
            ("FATHOMP_DSM", "homeless"),
            ("FATHOMP_DSM_PLAIN", "1"),
            ("FATHOMP_DSM_NET", "62.5,103.4"),
            ("FATHOMP_DSM_FAULTS", "mprotect"),
        ];
        let expected = Sharing {
            protocol: Protocol::Homeless,
            plain: true,
            network: Network::new(62.5, 103.4).ok(),
            faults: Some(Faults::Mprotect),
        };
        assert_eq!(said(4, &environment), Some(expected));
        assert_eq!(said(4, &[("FATHOMP_DSM", "nonsense")]), None);
    }

    #[test]
    fn what_is_written_is_not_looked_up_again() {
        let written = Sharing {
            protocol: Protocol::Homeless,
            plain: false,
            network: Network::new(0.0, f64::INFINITY).ok(),
            faults: Some(Faults::Userfault),
        };
        let meta = Meta {
            nodes: 2,
            environment: [("FATHOMP_DSM".to_owned(), "home".to_owned())].into(),
            sharing: Some(written),
            ..Meta::default()
        };
        let json = serde_json::to_string(&meta).unwrap();
        let mut read: Meta = serde_json::from_str(&json).unwrap();
        read.complete();
        assert_eq!(read.sharing, Some(written));
    }
}
