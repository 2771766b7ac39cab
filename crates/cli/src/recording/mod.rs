//! One recorded run of a program: the launcher, with a drain beside it.

pub(crate) mod accesses;
mod drain;
mod silence;
mod watch;

use crate::args::{Cluster, ThreadCount};
use crate::failure::Failure;
use crate::host;
use crate::launch::{self, Ended, Launch, Stderr, Stdin, Stdout};
use crate::program::Program;
use fathomp_runtime::Unpacked;
use fathomp_trace::live::{self, RECORD_VARIABLE};
use fathomp_trace::model::Meta;
use fathomp_trace::writer::{self, Existing};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Part of the processors used by others from which times are in doubt.
const DISTURBING: f64 = 0.1;

/// What to record, and where.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) program: &'a Program,
    pub(crate) unpacked: &'a Unpacked,
    pub(crate) directory: &'a Path,
    pub(crate) existing: Existing,
    /// Threads per node.
    pub(crate) threads: Option<ThreadCount>,
    pub(crate) cluster: Cluster,
    /// Whether to record what is accessed, too.
    pub(crate) accesses: bool,
    pub(crate) limit_bytes: u64,
    /// Time after which the program is killed.
    pub(crate) limit: Option<Duration>,
    /// More threads than processors on purpose: what counts is how work divides.
    pub(crate) rehearsal: bool,
    pub(crate) stdin: Stdin,
    pub(crate) stdout: Stdout,
    pub(crate) stderr: Stderr,
}

/// A recording that was made, and the run it is of.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) ended: Ended,
    /// Records taken, all processes together.
    pub(crate) records: u64,
    /// What was noticed, each as one sentence.
    pub(crate) problems: Vec<String>,
}

/// The live directory, removed when dropped: everything of value has been
/// drained by then, or the recording could not be made at all.
struct Live(PathBuf);

impl Drop for Live {
    fn drop(&mut self) {
        let _ = live::remove(&self.0);
    }
}

/// Runs the program and records it.
pub(crate) fn record(request: &Request<'_>) -> Result<Recorded, Failure> {
    let meta = circumstances(request);
    let mut writer = writer::create(request.directory, &meta, request.existing)?;
    let live = live::create(request.directory)
        .map(Live)
        .map_err(|error| Failure::unwritable(request.directory, &error))?;
    writer.update(|meta| meta.live = Some(live.0.clone()))?;

    let library = launch::library(request.unpacked, request.cluster);
    let launch = Launch {
        program: request.program,
        library: Some(library),
        variables: launch::variables(request.threads, request.cluster)
            .into_iter()
            .chain([(RECORD_VARIABLE, OsString::from(&live.0))])
            .chain(accesses::variables(request)?)
            .collect(),
        stdin: request.stdin.clone(),
        stdout: request.stdout.clone(),
        stderr: request.stderr.clone(),
    };
    let quota = host::quota();
    let meter = host::Meter::start();
    let running = launch.start()?;
    let drain = drain::start(drain::Job {
        live: live.0.clone(),
        recording: request.directory.to_owned(),
        limit_bytes: request.limit_bytes,
        pid: running.pid(),
        library: library.to_owned(),
    })?;
    let ended = running.wait(request.limit)?;
    let (others, processor_ns) = (meter.others(), meter.processor_ns());
    let drained = drain.finish();

    let mut problems = drained.problems;
    problems.extend(others.filter(|part| *part > DISTURBING).map(|part| {
        format!(
            "Other programs used {:.0} % of the processors during this run, so its times are too long; record again when the machine is quiet.",
            part * 100.0
        )
    }));
    problems.extend(watch::remarks(drained.records > 0, &drained.runtimes));
    if drained.records == 0 {
        let silence = silence::Silence {
            program: request.program,
            ended: &ended,
            processes: drained.processes,
            runtimes: &drained.runtimes,
        };
        problems.extend(silence.explain());
    }
    if request.accesses {
        problems.extend(accesses::join(request)?);
    }
    writer.update(|meta| {
        meta.quota_processors = quota.map(|quota| quota.processors);
        meta.throttled_ns = quota.and_then(|before| {
            let after = host::quota()?;
            Some(after.throttled_ns.saturating_sub(before.throttled_ns))
        });
        meta.others_used = others;
        meta.processor_ns = processor_ns;
    })?;
    writer.finish(ended.outcome, ended.wall, problems.clone())?;
    Ok(Recorded {
        ended,
        records: drained.records,
        problems,
    })
}

/// Variables that matter to OpenMP and to us. Others may hold secrets and are
/// not kept.
fn is_kept(name: &str) -> bool {
    ["OMP_", "GOMP_", "KMP_", "FATHOMP_", "LD_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

fn circumstances(request: &Request<'_>) -> Meta {
    let mut environment: std::collections::BTreeMap<_, _> = env::vars_os()
        .filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| is_kept(name))?;
            Some((name, value.to_string_lossy().into_owned()))
        })
        .collect();
    for (name, value) in launch::variables(request.threads, request.cluster) {
        environment.insert(name.to_owned(), value.to_string_lossy().into_owned());
    }
    Meta {
        fathomp: env!("CARGO_PKG_VERSION").to_owned(),
        command: request
            .program
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        directory: env::current_dir().unwrap_or_default(),
        environment,
        machine: host::machine(),
        threads: request.threads.map(|ThreadCount(count)| count),
        nodes: request.cluster.nodes.into(),
        rehearsal: request.rehearsal,
        emulated_time: request.cluster.emulated_time,
        started_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| u64::try_from(since.as_nanos()).ok())
            .unwrap_or(0),
        ..Meta::default()
    }
}
