//! `fathomp run` on several hosts.

use super::agent::setup;
use super::participants::Participants;
use super::version;
use crate::args::cluster::{Cluster, OnHosts};
use crate::args::{Run, ThreadCount};
use crate::console::{Console, complain};
use crate::failure::{Failure, exit};
use crate::launch::{RanElsewhere, library, plan};
use crate::program::Program;
use fathomp_console::launch::passed_signals;
use fathomp_hosts::{
    Bytes, Caller, Ended, FAN_OUT, HANDOVER_DESCRIPTOR, Job, Options, SSH, digest, file_mask,
    soft_limits,
};
use fathomp_launch::names::HOST;
use fathomp_launch::{Plan, Recorder, Watch, is_of_one_rank, of_this_process};
use fathomp_runtime::{Unpacked, candidates};
use fathomp_types::Ending;
use fathomp_types::text::one_line;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The exit code of a program whose nodes have failed.
const RUN_FAILED: u8 = 70;

/// What is to run on which hosts.
pub(super) struct Asked<'a> {
    pub(super) on: &'a OnHosts,
    pub(super) program: &'a Program,
    pub(super) participants: Participants,
    /// As many nodes as hosts have.
    pub(super) cluster: Cluster,
    pub(super) threads: Option<ThreadCount>,
    pub(super) check_races: bool,
    /// For the recorder in the program, and for agents.
    pub(super) recorder: Option<Recorder>,
    /// The interposer, and where it meets its collector, if paging is recorded.
    pub(super) interposers: Option<(PathBuf, PathBuf)>,
    /// What nodes note of accesses.
    pub(super) watch: Option<Watch>,
    /// What the program's runtime is to note of loops.
    pub(super) trips: Option<PathBuf>,
    pub(super) sidecar: Option<Bytes>,
}

/// Runs a program on the hosts that were asked for.
pub(crate) fn run(
    asked: &Run,
    program: &Program,
    participants: Participants,
    console: Console,
) -> Result<RanElsewhere, Failure> {
    let asked = Asked {
        on: &asked.nodes.nodes.on,
        program,
        cluster: Cluster {
            nodes: participants.hosts.nodes(),
            ..asked.nodes.nodes.cluster
        },
        participants,
        threads: asked.threads,
        check_races: asked.nodes.check_races,
        recorder: None,
        interposers: None,
        watch: None,
        trips: None,
        sidecar: None,
    };
    let unpacked = fathomp_runtime::unpack()
        .map_err(|error| Failure::from(error).with_code(exit::LAUNCHER))?;
    let say = |sentence: &str| complain("", &one_line(sentence));
    let ended = start(asked, &unpacked, &say, console)?;
    Ok(RanElsewhere {
        exit_code: code(&ended),
        wall_ns: Some(u64::try_from(ended.wall.as_nanos()).unwrap_or(u64::MAX)),
    })
}

/// Has it run, and waits for its end.
pub(super) fn start(
    asked: Asked<'_>,
    unpacked: &Unpacked,
    caller: &dyn Caller,
    console: Console,
) -> Result<Ended, Failure> {
    let cluster = asked.cluster;
    if let Some(warning) = asked.program.on_nodes(cluster.nodes)? {
        console.warn(warning);
    }
    // The interposer stands in front of all others.
    let (interposer, meeting) = asked.interposers.unzip();
    let library = library(unpacked, cluster.asked()).to_owned();
    let mut told = Plan {
        preload: interposer.into_iter().chain([library]).collect(),
        recorder: asked.recorder,
        paging: meeting,
        watch: asked.watch,
        trips: asked.trips,
        ..plan(asked.threads, cluster.asked())
    };
    if let Some(cluster) = &mut told.cluster {
        cluster.races = asked.check_races;
    }
    let whole = Whole {
        on: asked.on,
        program: asked.program,
        participants: asked.participants,
        sidecar: asked.sidecar,
    };
    start_job(whole, &told, unpacked, caller, console)
}

/// What is to run on which hosts, whatever it is told.
pub(super) struct Whole<'a> {
    pub(super) on: &'a OnHosts,
    pub(super) program: &'a Program,
    pub(super) participants: Participants,
    pub(super) sidecar: Option<Bytes>,
}

/// Has a program run that is told this, and waits for its end.
pub(super) fn start_job(
    asked: Whole<'_>,
    told: &Plan,
    unpacked: &Unpacked,
    caller: &dyn Caller,
    console: Console,
) -> Result<Ended, Failure> {
    let launcher = |failure: Failure| failure.with_code(exit::LAUNCHER);
    let job = Job {
        sidecar: asked.sidecar,
        ..job(
            (asked.program, asked.participants.first.is_some()),
            told,
            unpacked,
        )
        .map_err(launcher)?
    };
    let Participants { hosts, first } = asked.participants;
    let run = fathomp_hosts::Run {
        hosts,
        remote: remote(asked.on),
        agent: std::env::current_exe()
            .map_err(|error| launcher(Failure::new(format!("cannot find my own file: {error}"))))?
            .as_path()
            .into(),
        agent_arguments: vec!["host-agent".to_owned()],
        by_name: first.is_none(),
        fan_out: asked.on.fan_out.unwrap_or(FAN_OUT),
        ports: asked.on.ports.map(|ports| (ports.first, ports.last)),
        secure: asked.on.secure,
        job,
    };
    let options = Options {
        version: version(),
        signals: passed_signals(),
        quiet_stdout: console.json,
        patience: Duration::from_secs(asked.on.start_timeout),
    };
    let ended = match first {
        None => fathomp_hosts::launch(&run, &options, caller),
        Some(first) => {
            fathomp_hosts::lead(*first, (&run, &options), &setup(&options.version), caller)
        }
    };
    let ended = ended.map_err(|error| launcher(Failure::of(&error)))?;
    if ended.strangers > 0 {
        console.warn(format!(
            "{} connections to hosts of this run came from strangers and were refused: with --ports and a firewall you decide who can try",
            ended.strangers
        ));
    }
    Ok(ended)
}

/// The words of the command that logs in, split at blanks as OpenMPI's `plm_rsh_agent` is.
fn remote(on: &OnHosts) -> Vec<String> {
    match &on.ssh {
        Some(command) => command.split_whitespace().map(str::to_owned).collect(),
        None => SSH.iter().map(|word| (*word).to_owned()).collect(),
    }
}

/// The program with everything that it inherits, as all hosts are to have it.
fn job(
    (program, is_rank): (&Program, bool),
    told: &Plan,
    unpacked: &Unpacked,
) -> Result<Job, Failure> {
    let path = with_slash(&program.path);
    let unreadable = |error: std::io::Error| {
        Failure::new(format!("cannot read {}: {error}", program.path.display()))
    };
    let directory = std::env::current_dir().map_err(|error| {
        Failure::new(format!(
            "cannot tell the working directory: {error}: change to one that is there"
        ))
    })?;
    let found = candidates()
        .into_iter()
        .find(|one| one.path == unpacked.cache);
    Ok(Job {
        program_sha256: digest(&path).map_err(unreadable)?,
        program: path.as_path().into(),
        arguments: words(&program.command),
        environment: environment(told, is_rank),
        directory: directory.as_path().into(),
        limits: soft_limits(),
        umask: file_mask(),
        files: unpacked.cache.as_path().into(),
        files_are_shared: found.is_none_or(|found| found.shared),
        sidecar: None,
    })
}

/// A name without a slash would be searched for on each host.
fn with_slash(path: &Path) -> PathBuf {
    match path.as_os_str().as_bytes().contains(&b'/') {
        true => path.to_owned(),
        false => Path::new(".").join(path),
    }
}

fn words(words: &[OsString]) -> Vec<Bytes> {
    words.iter().map(|word| word.as_os_str().into()).collect()
}

/// Of a rank's own variables, those that are about one rank are left out.
fn environment(told: &Plan, is_rank: bool) -> Vec<(Bytes, Bytes)> {
    let is_kept = |name: &OsString| !(is_rank && name.to_str().is_some_and(is_of_one_rank));
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, _)| is_kept(name))
        .collect();
    for (name, value) in told.variables_over(&of_this_process) {
        all.insert(name.into(), value);
    }
    all.insert(HOST.name.into(), HANDOVER_DESCRIPTOR.to_string().into());
    let pair =
        |(name, value): (OsString, OsString)| (name.as_os_str().into(), value.as_os_str().into());
    all.into_iter().map(pair).collect()
}

/// The exit code that a shell would show for the first host's program, unless the run failed
/// though that did not.
pub(super) fn code(ended: &Ended) -> u8 {
    let own = ended.status.map_or(0, Ending::shell_code);
    match (own, ended.failed, ended.interrupted, ended.status) {
        (0, Some(true), ..) => RUN_FAILED,
        (0, Some(false), ..) => exit::LAUNCHER,
        (0, None, Some(signal), None) => Ending::Signalled(signal).shell_code(),
        // It was told to end, and all else is unknown.
        (0, None, None, None) => Ending::Signalled(Signal::SIGKILL as i32).shell_code(),
        (own, ..) => own,
    }
}
