//! One recorded run of a program: the launcher, with a drain beside it.

pub(crate) mod accesses;
pub(crate) mod drain;
mod silence;
pub(crate) mod watch;

use crate::args::{Cluster, ThreadCount};
use crate::failure::Failure;
use crate::host;
use crate::launch::{self, Ended, Launch, Running, Stderr, Stdin, Stdout};
use crate::output;
use crate::paging::{self, Session};
use crate::plan;
use crate::program::Program;
use crate::runtimes::Watched;
use crate::teams::Decided;
use fathomp_launch::names::RECORD;
use fathomp_launch::steering::is_noted;
use fathomp_launch::{Faults, OpenMp, Plan};
use fathomp_runtime::Unpacked;
use fathomp_sys::cluster::pages::Scheme;
use fathomp_trace::drain::Observed;
use fathomp_trace::live;
use fathomp_trace::model::{Meta, Sharing};
use fathomp_trace::reader::REGIONS_FILE;
use fathomp_trace::writer::{self, Existing};
use std::collections::BTreeMap;
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
    /// The runtime, if it is not ours.
    pub(crate) runtime: Option<&'a Watched>,
    pub(crate) directory: &'a Path,
    pub(crate) existing: Existing,
    /// Threads per node.
    pub(crate) threads: Option<ThreadCount>,
    pub(crate) cluster: Cluster,
    /// Whether to record what is accessed, too.
    pub(crate) accesses: Option<accesses::Of>,
    /// What to record of paging, if that is to be.
    pub(crate) paging: Option<&'a paging::Plan>,
    /// How teams are decided, if the program and the environment do not do it alone.
    pub(crate) teams: Option<&'a Decided>,
    /// The control group that the program is to run in, if not in ours.
    pub(crate) group: Option<&'a paging::Group>,
    pub(crate) limit_bytes: u64,
    /// Time after which the program is killed.
    pub(crate) limit: Option<Duration>,
    /// More threads than processors on purpose: what counts is how work divides.
    pub(crate) rehearsal: bool,
    /// How long to measure before and after the run how fast processors compute, if times
    /// are to be compared with those of other runs.
    pub(crate) pace: Option<Duration>,
    /// What OpenMP's variables are set to beside the number of threads.
    pub(crate) openmp: OpenMp,
    pub(crate) stdin: Stdin,
    pub(crate) stdout: Stdout,
    pub(crate) stderr: Stderr,
}

impl<'a> Request<'a> {
    /// One of several runs of a program on one machine, with so many threads and nothing else
    /// asked for, in the place of an earlier recording; what it prints is not shown.
    pub(crate) fn of_several(
        (program, unpacked): (&'a Program, &'a Unpacked),
        directory: &'a Path,
        threads: u32,
        limit_bytes: u64,
        stdin: Stdin,
    ) -> Self {
        Self {
            program,
            unpacked,
            runtime: None,
            directory,
            existing: Existing::Replace,
            threads: Some(ThreadCount(threads)),
            cluster: Cluster::ONE,
            accesses: None,
            paging: None,
            teams: None,
            group: None,
            limit_bytes,
            limit: None,
            rehearsal: false,
            pace: Some(host::pace::THOROUGH),
            openmp: OpenMp::default(),
            stdin,
            stdout: Stdout::Discard,
            stderr: Stderr::Inherit,
        }
    }
}

/// A recording that was made, and the run it is of.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) ended: Ended,
    /// Records taken, all processes together.
    pub(crate) records: u64,
    /// What was recorded of paging.
    pub(crate) paging: Option<paging::Recorded>,
    /// The runtimes that were recorded.
    pub(crate) observed: Vec<Observed>,
    /// Pages of 4 KiB that were read for the program, as far as the kernel says.
    pub(crate) page_ins: Option<u64>,
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
    launch::survive_file_limits();
    let meta = circumstances(request)?;
    let mut writer = writer::create(request.directory, &meta, request.existing)?;
    let live = live::create(request.directory)
        .map(Live)
        .map_err(|error| Failure::unwritable(request.directory, &error))?;
    writer.update(|meta| meta.live = Some(live.0.clone()))?;

    let mut session = match request.paging {
        Some(plan) => Some(Session::begin(
            plan,
            request.directory,
            request.limit_bytes,
        )?),
        None => None,
    };
    let library = launch::library(request.unpacked, request.cluster);
    let planned = match uses_openmp(request) {
        true => plan::plan(request.program),
        false => plan::Planned::default(),
    };
    if let Some(regions) = &planned.regions {
        let path = request.directory.join(REGIONS_FILE);
        let json = regions.to_json().map_err(|error| Failure::of(&error))?;
        output::write_file(&path, json.as_bytes())?;
    }
    let mut plan = asked(request);
    plan.recorder = Some(fathomp_launch::Recorder::new(live.0.clone()));
    plan.watch = accesses::watch(request)?;
    plan.paging = session.as_ref().map(Session::live);
    match request.runtime {
        // What regions depend on is noted by our runtime alone.
        Some(runtime) => runtime.tell(&mut plan),
        None => planned.tell(&mut plan),
    }
    if let Some(teams) = request.teams {
        teams.tell(&mut plan);
    }
    let launch = Launch {
        program: request.program,
        tap: session.as_ref().map(|_| request.unpacked.tap.as_path()),
        library: (uses_openmp(request) && request.runtime.is_none()).then_some(library),
        plan,
        stdin: request.stdin.clone(),
        stdout: request.stdout.clone(),
        stderr: request.stderr.clone(),
    };
    let paced = paced(request);
    let quota = host::quota();
    let meter = host::Meter::start();
    let running = start(&launch, session.as_mut(), request.group)?;
    let drain = drain::start(drain::Job {
        live: live.0.clone(),
        recording: request.directory.to_owned(),
        limit_bytes: request.limit_bytes,
        pid: running.pid(),
        library: library.to_owned(),
    })?;
    let ended = running.wait(request.limit)?;
    let helper = session.as_ref().map(Session::collector);
    let (others, processor_ns) = (meter.others(helper), meter.processor_ns());
    let page_ins = meter.page_ins();
    let pace = paced.and_then(|paced| paced.after());
    let drained = drain.finish();

    let mut problems = drained.problems;
    problems.extend(planned.problems.iter().cloned());
    problems.extend(others.filter(|part| *part > DISTURBING).map(|part| {
        format!(
            "Other programs used {:.0} % of the processors during this run, so its times are too long; record again when the machine is quiet.",
            part * 100.0
        )
    }));
    match request.runtime {
        Some(runtime) => problems.extend(runtime.notes.iter().cloned()),
        None => problems.extend(watch::remarks(
            drained.records > 0,
            &drained.runtimes,
            request.program,
        )),
    }
    let recorded_paging = match session {
        Some(session) => Some(session.finish(ended.wall_ns())?),
        None => None,
    };
    problems.extend(
        recorded_paging
            .iter()
            .flat_map(|paging| paging.problems.clone()),
    );
    // Of a program that need not use OpenMP, its paging is enough.
    let paging_is_enough = recorded_paging.is_some() && request.program.suspicion.is_some();
    if drained.records == 0 && !paging_is_enough {
        let silence = silence::Silence {
            program: request.program,
            ended: &ended,
            processes: drained.processes,
            runtimes: &drained.runtimes,
            runtime: request.runtime,
        };
        problems.extend(silence.explain());
    }
    if request.accesses.is_some() {
        problems.extend(accesses::join(request.directory, request.cluster.nodes)?);
    }
    writer.update(|meta| {
        meta.quota_processors = quota.map(|quota| quota.processors);
        meta.throttled_ns = quota.and_then(|before| {
            let after = host::quota()?;
            Some(after.throttled_ns.saturating_sub(before.throttled_ns))
        });
        meta.others_used = others;
        meta.processor_ns = processor_ns;
        meta.pace = pace;
    })?;
    writer.finish(ended.outcome, ended.wall, problems.clone())?;
    Ok(Recorded {
        ended,
        records: drained.records,
        paging: recorded_paging,
        observed: drained.observed,
        page_ins,
        problems,
    })
}

/// How fast processors compute before the run, if that is to be measured and all threads are
/// in one process.
fn paced(request: &Request<'_>) -> Option<host::pace::Paced> {
    let span = request.pace.filter(|_| request.cluster.nodes <= 1)?;
    let threads = request.threads.map(|ThreadCount(count)| count);
    host::pace::before(threads, span)
}

/// Whether the program needs the runtime library. With paging alone to record, programs
/// that do not use OpenMP go without.
fn uses_openmp(request: &Request<'_>) -> bool {
    request.paging.is_none() || needs_runtime(request.program, request.threads, request.cluster)
}

/// Whether a program that need not use OpenMP is to have the runtime library.
pub(crate) fn needs_runtime(
    program: &Program,
    threads: Option<ThreadCount>,
    cluster: Cluster,
) -> bool {
    cluster.nodes > 1 || threads.is_some() || program.may_use_openmp()
}

/// Starts the program, watched and in its group from its first instruction on.
fn start(
    launch: &Launch<'_>,
    session: Option<&mut Session>,
    group: Option<&paging::Group>,
) -> Result<Running, Failure> {
    let mut refused = None;
    let started = match (session, group) {
        (None, None) => launch.start(),
        (session, group) => launch.start_prepared(|process| {
            if let Some(session) = session {
                session.watch(process);
            }
            refused = group.and_then(|group| group.add(process).err());
            refused.is_none()
        }),
    };
    match refused {
        Some(error) => Err(error.into()),
        None => Ok(started?),
    }
}

/// What is asked of the program and its nodes, recorded or not.
fn asked(request: &Request<'_>) -> Plan {
    let plan = launch::plan(request.threads, request.cluster);
    Plan {
        openmp: OpenMp {
            threads: plan.openmp.threads,
            ..request.openmp.clone()
        },
        ..plan
    }
}

pub(crate) fn circumstances(request: &Request<'_>) -> Result<Meta, Failure> {
    // Others may hold secrets and are not kept.
    let users = env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| is_noted(name))?;
        Some((name, value))
    });
    let mut environment: BTreeMap<_, _> = users.collect();
    for (name, value) in asked(request).variables() {
        environment.insert(name.to_owned(), value);
    }
    // What the user has set counts too; what makes no sense is said before the program runs.
    let told = Plan::from_env(&|name| match name == RECORD.name {
        true => Some(request.directory.into()),
        false => environment.get(name).cloned(),
    })
    .map_err(|error| Failure::of(&error))?;
    let cluster = told.cluster.filter(|_| request.cluster.nodes > 1);
    let text = |(name, value): (String, OsString)| (name, value.to_string_lossy().into_owned());
    let environment = environment.into_iter().map(text).collect();
    Ok(Meta {
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
        runtime: request.runtime.map(|runtime| runtime.asked.to_string()),
        threads: request.threads.map(|ThreadCount(count)| count),
        nodes: request.cluster.nodes.into(),
        sharing: cluster.as_ref().map(sharing),
        rehearsal: request.rehearsal,
        started_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .ok()
            .and_then(|since| u64::try_from(since.as_nanos()).ok())
            .unwrap_or(0),
        ..Meta::default()
    })
}

/// How nodes share memory: where nothing is asked for, the kernel decides how accesses are
/// noticed.
fn sharing(cluster: &fathomp_launch::Cluster) -> Sharing {
    let best = || match Scheme::best() {
        Scheme::Userfaults => Faults::Userfault,
        Scheme::Protections => Faults::Mprotect,
    };
    Sharing {
        faults: Some(cluster.faults.unwrap_or_else(best)),
        ..Sharing::from(cluster)
    }
}
