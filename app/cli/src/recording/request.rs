//! What to record, where to, and under which conditions.

use crate::args::ThreadCount;
use crate::failure::Failure;
use crate::paging;
use crate::program::Program;
use crate::runtimes::Watched;
use crate::teams::Decided;
use fathomp_console::launch::Streams;
use fathomp_launch::{Cluster, OpenMp, Watch};
use fathomp_runtime::Unpacked;
use fathomp_trace::writer::Existing;
use std::path::Path;
use std::time::Duration;

/// One run that is to be recorded.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) destination: Destination<'a>,
    pub(crate) streams: Streams,
    pub(crate) teams: Teams<'a>,
    pub(crate) extras: Extras<'a>,
    pub(crate) conditions: Conditions<'a>,
}

impl<'a> Request<'a> {
    /// A run on one node, with the threads that the program takes by itself, of which regions
    /// alone are recorded.
    pub(crate) fn new(
        subject: Subject<'a>,
        destination: Destination<'a>,
        streams: Streams,
    ) -> Self {
        Self {
            subject,
            destination,
            streams,
            teams: Teams::default(),
            extras: Extras::default(),
            conditions: Conditions::default(),
        }
    }

    /// Whether the program needs the runtime library. With paging alone to record, programs
    /// that do not use OpenMP go without.
    pub(super) fn uses_openmp(&self) -> bool {
        let Teams {
            threads, cluster, ..
        } = self.teams;
        self.extras.paging.is_none() || needs_runtime(self.subject.program, threads, cluster)
    }
}

/// What runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) program: &'a Program,
    pub(crate) unpacked: &'a Unpacked,
    /// The OpenMP runtime, if it is not ours.
    pub(crate) runtime: Option<&'a Watched>,
}

/// The recording's directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) existing: Existing,
    pub(crate) max_bytes: u64,
}

impl<'a> Destination<'a> {
    /// The place of an earlier recording, if there is one.
    pub(crate) const fn replacing(directory: &'a Path, max_bytes: u64) -> Self {
        Self {
            directory,
            existing: Existing::Replace,
            max_bytes,
        }
    }
}

/// How many threads there are, and where.
#[derive(Debug, Default)]
pub(crate) struct Teams<'a> {
    /// Threads per node.
    pub(crate) threads: Option<ThreadCount>,
    /// The nodes, if they are several.
    pub(crate) cluster: Option<Cluster>,
    /// How teams are decided, if the program and the environment do not do it alone.
    pub(crate) decided: Option<&'a Decided>,
    /// What OpenMP's variables are set to beside the number of threads.
    pub(crate) openmp: OpenMp,
}

impl Teams<'_> {
    /// So many threads on one node.
    pub(crate) fn of(threads: u32) -> Self {
        Self {
            threads: Some(ThreadCount(threads)),
            ..Self::default()
        }
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> u16 {
        self.cluster.map_or(1, |cluster| cluster.nodes)
    }
}

/// Optional recordings: accesses to memory, and paging.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras<'a> {
    pub(crate) accesses: Option<Accesses>,
    pub(crate) paging: Option<&'a paging::Plan>,
}

/// What nodes are to note of their accesses to memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accesses {
    /// Lines instead of pages.
    pub(crate) lines: bool,
    /// Puts the parts of so many nodes together when all have ended; what is wrong with the whole,
    /// as a sentence.
    pub(crate) join: fn(&Path, u16) -> Result<Option<String>, Failure>,
}

impl Accesses {
    /// What asks the program's nodes for their parts.
    pub(super) fn watch(self, recording: &Path) -> Result<Watch, Failure> {
        let directory = std::path::absolute(recording)
            .map_err(|error| Failure::unwritable(recording, &error))?;
        Ok(Watch::Accesses {
            directory,
            lines: self.lines,
        })
    }
}

/// What bounds the run, and what is known of it beforehand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conditions<'a> {
    /// The control group that the program is to run in, if not in ours.
    pub(crate) group: Option<&'a paging::Group>,
    /// Time after which the program is killed.
    pub(crate) timeout: Option<Duration>,
    /// How many ranks were started together, if this is one of several. Others may run on this
    /// machine: what they use cannot be told from what other programs use.
    pub(crate) ranks: Option<u32>,
    /// More threads than processors on purpose: what counts is how work divides.
    pub(crate) rehearsal: bool,
    /// How long to measure before and after the run how fast processors compute, if times
    /// are to be compared with those of other runs.
    pub(crate) pace: Option<Duration>,
}

/// Whether a program that need not use OpenMP is to have the runtime library.
pub(crate) fn needs_runtime(
    program: &Program,
    threads: Option<ThreadCount>,
    cluster: Option<Cluster>,
) -> bool {
    cluster.is_some() || threads.is_some() || program.may_use_openmp()
}
