//! One recorded run of a program: the launcher, with a drain beside it.

pub(crate) mod drain;
mod empty_recording;
pub(crate) mod rank;
pub(crate) mod request;
pub(crate) mod watch;

pub(crate) use fathomp_console::launch::Streams;
pub(crate) use request::{Accesses, Conditions, Destination, Extras, Request, Subject, Teams};

use crate::args::ThreadCount;
use crate::failure::Failure;
use crate::host;
use crate::host::pace::Paced;
use crate::launch::{self, Ended, Launch, Running};
use crate::output;
use crate::paging::{self, Session};
use crate::plan;
use drain::Drained;
use fathomp_launch::names::RECORD;
use fathomp_launch::steering::is_noted;
use fathomp_launch::{Faults, OpenMp, Plan};
use fathomp_sys::cluster::pages::Scheme;
use fathomp_trace::drain::Observed;
use fathomp_trace::live;
use fathomp_trace::model::{Meta, Pace, Sharing};
use fathomp_trace::reader::REGIONS_FILE;
use fathomp_trace::writer::{self, Writer};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Part of the processors used by others from which times are in doubt.
const DISTURBING: f64 = 0.1;

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
    Prepared::new(request)?.run()
}

/// Runs the program as it would be if it were recorded.
pub(crate) fn run_unrecorded(request: &Request<'_>) -> Result<Ended, Failure> {
    let launch = launch_of(request, None, asked(request));
    Ok(launch.start()?.wait(request.conditions.timeout)?)
}

/// What to start, with the library for paging if there is one.
fn launch_of<'a>(request: &Request<'a>, interposer: Option<&'a Path>, plan: Plan) -> Launch<'a> {
    let Subject {
        program,
        unpacked,
        runtime,
    } = request.subject;
    let Streams {
        stdin,
        stdout,
        stderr,
    } = request.streams.clone();
    let library = launch::library(unpacked, request.teams.cluster);
    Launch {
        program,
        interposer,
        library: (request.uses_openmp() && runtime.is_none()).then_some(library),
        plan,
        stdin,
        stdout,
        stderr,
    }
}

/// A run whose recording has its directory, and that can be started.
pub(crate) struct Prepared<'a> {
    request: &'a Request<'a>,
    writer: Writer,
    live: Live,
    /// What records paging, if that is wanted.
    session: Option<Session>,
    /// The scan of the program, made before it runs.
    planned: plan::Planned,
}

impl<'a> Prepared<'a> {
    /// Makes the recording's directory.
    pub(crate) fn new(request: &'a Request<'a>) -> Result<Self, Failure> {
        launch::survive_file_limits();
        let Destination {
            directory,
            existing,
            max_bytes,
        } = request.destination;
        let mut writer = writer::create(directory, &circumstances(request)?, existing)?;
        let live = live::create(directory)
            .map(Live)
            .map_err(|error| Failure::unwritable(directory, &error))?;
        writer.update(|meta| meta.live = Some(live.0.clone()))?;
        let session = match request.extras.paging {
            Some(plan) => Some(Session::begin(plan, directory, max_bytes)?),
            None => None,
        };
        let planned = match request.uses_openmp() {
            true => plan::plan(request.subject.program),
            false => plan::Planned::default(),
        };
        if let Some(regions) = &planned.regions {
            let json = regions.to_json()?;
            output::write_file(&directory.join(REGIONS_FILE), json.as_bytes())?;
        }
        Ok(Self {
            request,
            writer,
            live,
            session,
            planned,
        })
    }

    /// What the program's processes are asked to do.
    fn plan(&self) -> Result<Plan, Failure> {
        let request = self.request;
        let mut plan = asked(request);
        plan.recorder = Some(fathomp_launch::Recorder::new(self.live.0.clone()));
        plan.watch = match request.extras.accesses {
            Some(accesses) => Some(accesses.watch(request.destination.directory)?),
            None => None,
        };
        plan.paging = self.session.as_ref().map(Session::live);
        match request.subject.runtime {
            // What regions depend on is noted by our runtime alone.
            Some(runtime) => runtime.tell(&mut plan),
            None => self.planned.tell(&mut plan),
        }
        if let Some(teams) = request.teams.decided {
            teams.tell(&mut plan);
        }
        let Subject {
            program, unpacked, ..
        } = request.subject;
        // What a rank is linked with may call MPI, too.
        if request.conditions.ranks.is_some() || program.may_call_mpi() {
            plan.preload.push(unpacked.mpi.clone());
        }
        Ok(plan)
    }

    /// Runs the program, and closes the recording when it has ended.
    pub(crate) fn run(self) -> Result<Recorded, Failure> {
        self.run_to_end()?.conclude()
    }

    /// Runs the program to its end, with a drain beside it.
    fn run_to_end(mut self) -> Result<Ran<'a>, Failure> {
        let request = self.request;
        let unpacked = request.subject.unpacked;
        let interposer = request.extras.paging.map(|plan| plan.interposer(unpacked));
        let launch = launch_of(request, interposer, self.plan()?);
        let library = launch::library(unpacked, request.teams.cluster);
        let paced = paced(request);
        let quota = host::quota();
        let meter = host::Meter::start();
        let running = start(&launch, self.session.as_mut(), request.conditions.group)?;
        let drain = drain::start(drain::Job {
            live: self.live.0.clone(),
            recording: request.destination.directory.to_owned(),
            limit_bytes: request.destination.max_bytes,
            pid: running.pid(),
            library: library.to_owned(),
        })?;
        let ended = running.wait(request.conditions.timeout)?;
        let is_alone = request.conditions.ranks.is_none();
        let collector = self.session.as_ref().map(Session::collector);
        let measured = Measured {
            others_used: meter.others(collector).filter(|_| is_alone),
            processor_ns: meter.processor_ns(),
            page_ins: meter.page_ins(),
            pace: paced.and_then(Paced::after),
            quota_processors: quota.map(|quota| quota.processors),
            throttled_ns: quota.and_then(|before| {
                let after = host::quota()?;
                Some(after.throttled_ns.saturating_sub(before.throttled_ns))
            }),
        };
        Ok(Ran {
            prepared: self,
            ended,
            drained: drain.finish(),
            measured,
        })
    }
}

/// What was measured of the machine while the program ran.
struct Measured {
    /// Part of the processors that other programs had.
    others_used: Option<f64>,
    processor_ns: Option<u64>,
    page_ins: Option<u64>,
    pace: Option<Pace>,
    quota_processors: Option<f64>,
    throttled_ns: Option<u64>,
}

/// A run that has ended, and whose records are drained.
struct Ran<'a> {
    prepared: Prepared<'a>,
    ended: Ended,
    drained: Drained,
    measured: Measured,
}

impl Ran<'_> {
    /// Closes the recording.
    fn conclude(self) -> Result<Recorded, Failure> {
        let Prepared {
            request,
            mut writer,
            live: _live,
            session,
            planned,
        } = self.prepared;
        let (ended, drained, measured) = (self.ended, self.drained, self.measured);
        let Subject {
            program, runtime, ..
        } = request.subject;
        let mut problems = drained.problems;
        problems.extend(planned.problems);
        problems.extend(measured.disturbance());
        match runtime {
            Some(runtime) => problems.extend(runtime.notes.iter().cloned()),
            None => problems.extend(watch::remarks(
                drained.records > 0,
                &drained.runtimes,
                program,
            )),
        }
        let paging = match session {
            Some(session) => Some(session.finish(ended.wall_ns())?),
            None => None,
        };
        problems.extend(paging.iter().flat_map(|paging| paging.problems.clone()));
        // Of a program that need not use OpenMP, its paging is enough.
        let paging_is_enough = paging.is_some() && program.suspicion.is_some();
        if drained.records == 0 && !paging_is_enough {
            let silence = empty_recording::EmptyRecording {
                program,
                ended: &ended,
                processes: drained.processes,
                runtimes: &drained.runtimes,
                runtime,
            };
            problems.extend(silence.explain());
        }
        if let Some(accesses) = request.extras.accesses {
            let directory = request.destination.directory;
            problems.extend((accesses.join)(directory, request.teams.nodes())?);
        }
        let page_ins = measured.page_ins;
        writer.update(|meta| measured.note(meta))?;
        writer.finish(ended.outcome, ended.wall, problems.clone())?;
        Ok(Recorded {
            ended,
            records: drained.records,
            paging,
            observed: drained.observed,
            page_ins,
            problems,
        })
    }
}

impl Measured {
    /// A sentence, if other programs had so much of the processors that times are in doubt.
    fn disturbance(&self) -> Option<String> {
        let part = self.others_used.filter(|part| *part > DISTURBING)?;
        Some(format!(
            "Other programs used {:.0} % of the processors during this run, so its times are too long; record again when the machine is quiet.",
            part * 100.0
        ))
    }

    fn note(self, meta: &mut Meta) {
        meta.quota_processors = self.quota_processors;
        meta.throttled_ns = self.throttled_ns;
        meta.others_used = self.others_used;
        meta.processor_ns = self.processor_ns;
        meta.pace = self.pace;
    }
}

/// How fast processors compute before the run, if that is to be measured and all threads are
/// in one process.
fn paced(request: &Request<'_>) -> Option<host::pace::Paced> {
    let span = request.conditions.pace;
    let span = span.filter(|_| request.teams.cluster.is_none())?;
    let threads = request.teams.threads.map(|ThreadCount(count)| count);
    host::pace::before(threads, span)
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
    let plan = launch::plan(request.teams.threads, request.teams.cluster);
    Plan {
        openmp: OpenMp {
            threads: plan.openmp.threads,
            ..request.teams.openmp.clone()
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
        true => Some(request.destination.directory.into()),
        false => environment.get(name).cloned(),
    })?;
    let cluster = told.cluster.filter(|_| request.teams.cluster.is_some());
    let text = |(name, value): (String, OsString)| (name, value.to_string_lossy().into_owned());
    let environment = environment.into_iter().map(text).collect();
    Ok(Meta {
        fathomp: env!("CARGO_PKG_VERSION").to_owned(),
        command: request
            .subject
            .program
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        directory: env::current_dir().unwrap_or_default(),
        environment,
        machine: host::machine(),
        runtime: request
            .subject
            .runtime
            .map(|runtime| runtime.asked.to_string()),
        threads: request.teams.threads.map(|ThreadCount(count)| count),
        nodes: request.teams.nodes().into(),
        sharing: cluster.as_ref().map(sharing),
        ranks: request.conditions.ranks,
        rehearsal: request.conditions.rehearsal,
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
