//! `fathomp record`: one run, one recording; or several runs with less and less memory.

use super::measure_intrusion::measure_intrusion;
use crate::args::{Record, ThreadCount};
use crate::console::{Console, complain};
use crate::failure::{Failure, Outcome, exit};
use crate::host::pace;
use crate::hosts::{self, Gathered, Participants};
use crate::launch::{Ended, Stderr, Stdin, Stdout};
use crate::output;
use crate::paging::{self, Curve, Group, Memory};
use crate::program::{self, Program};
use crate::progress::slowly;
use crate::recording::accesses::Of;
use crate::recording::rank::Rank;
use crate::recording::{
    self, Conditions, Destination, Extras, Prepared, Recorded, Request, Streams, Subject, Teams,
};
use crate::runtimes::Watched;
use crate::teams::{Chosen, Decided};
use fathomp_runtime::Unpacked;
use fathomp_trace::drain::Observed;
use fathomp_trace::writer::Existing;
use fathomp_types::size::Size;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// What a run has left, on this machine or on several hosts.
struct Left<'a> {
    records: u64,
    problems: &'a [String],
    /// Of the command.
    code: u8,
    wall_ns: u64,
    /// Which runtimes were watched, as the end of a sentence.
    watched: String,
    paging: Option<&'a paging::Recorded>,
    curve: Option<&'a Curve>,
    teams: Option<Chosen>,
}

#[derive(Serialize)]
struct Answer<'a> {
    recording: &'a Path,
    records: u64,
    problems: &'a [String],
    exit_code: u8,
    wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    paging: Option<Paging>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'a Curve>,
    #[serde(skip_serializing_if = "Option::is_none")]
    teams: Option<Chosen>,
}

/// What was recorded of paging.
#[derive(Serialize)]
struct Paging {
    tasks: usize,
    processes: usize,
    io_calls_seen: Option<u64>,
    io_calls_made: Option<u64>,
}

/// What does not differ between runs.
struct Job<'a> {
    plan: &'a Record,
    program: Program,
    unpacked: Unpacked,
    runtime: Option<Watched>,
    threads: Option<ThreadCount>,
    paging: Option<paging::Plan>,
    teams: Option<Decided>,
    /// This process among those that `mpirun` or `srun` has started.
    rank: Option<Rank>,
}

pub(super) fn record(plan: &Record, console: Console) -> Outcome {
    let paging = paging::Plan::new(&plan.paging)
        .map_err(|error| Failure::from(error).with_code(exit::USAGE))?;
    // What makes no sense all ranks find, before they meet.
    let threads = threads(plan)?;
    if let Some(paging) = paging.as_ref().filter(|_| plan.on.are_asked_for())
        && let Some(sentence) = paging.contradiction_on_hosts()
    {
        return Err(Failure::new(sentence).with_code(exit::USAGE));
    }
    match hosts::gather(&plan.on, &plan.program.command, plan.cluster.nodes)? {
        Gathered::Member(code) => return Ok(code),
        Gathered::Participants(participants) => {
            return on_hosts(plan, (paging, threads), participants, console);
        }
        Gathered::Alone => enough_nodes(plan, plan.cluster.nodes)?,
    }
    let program = program::examine(&plan.program.command)?;
    hosts::tell_of_others(&program, console);
    if let Some(warning) = program.on_nodes(plan.cluster.nodes)? {
        console.warn(warning);
    }
    let launcher = |failure: Failure| failure.with_code(exit::LAUNCHER);
    let unpacked = fathomp_runtime::unpack().map_err(|error| launcher(error.into()))?;
    if let (Some(rounds), Some(paging)) = (plan.paging.measure_intrusion, &paging) {
        let measured = measure_intrusion(plan, rounds, paging, (&program, &unpacked), console);
        return measured.map_err(launcher);
    }
    let runtime = Watched::prepare(&plan.runtime, &program, &unpacked)
        .map_err(|error| Failure::of(&error).with_code(exit::USAGE))?;
    slowly(console, "looking at the program's code", || {
        crate::plan::keep(&program);
    });
    let teams = Decided::prepare(&plan.teams, &program, console).map_err(launcher)?;
    let rank = Rank::of_this_process();
    let output = match rank {
        Some(rank) => rank.directory(&plan.output),
        None => plan.output.clone(),
    };
    let job = Job {
        plan,
        rank,
        teams,
        program,
        unpacked,
        runtime,
        threads,
        paging,
    };
    let (recorded, curve) = match &plan.paging.memory {
        None => match job.run_once(&output, console).map_err(launcher)? {
            Run::Recorded(recorded) => (*recorded, None),
            Run::Unrecorded(ended) => return Ok(ended.exit_code()),
        },
        Some(limits) => {
            if let Some(rank) = rank {
                rank.prepare(&plan.output, plan.force).map_err(launcher)?;
            }
            let made = with_less_memory(&job, &output, &limits.0, console);
            let (recorded, curve) = made.map_err(launcher)?;
            (recorded, Some(curve))
        }
    };
    if let Some(sentence) = recorded.ended.of_nodes(plan.cluster.nodes) {
        complain("", &sentence);
    }
    let paging = recorded.paging.as_ref();
    let paged = paging.is_some_and(paging::Recorded::is_something);
    let left = Left {
        records: recorded.records,
        problems: &recorded.problems,
        code: code(recorded.ended.exit_code(), recorded.records > 0 || paged),
        wall_ns: recorded.ended.wall_ns(),
        watched: watched(&recorded.observed),
        paging,
        curve: curve.as_ref(),
        teams: job.teams.map(|teams| teams.finish(console)),
    };
    let console = Console {
        // The first rank speaks for all of them, as far as all went well.
        quiet: console.quiet || rank.is_some_and(|rank| rank.number > 0),
        ..console
    };
    tell(&output, left, console)
}

/// The same on several hosts.
fn on_hosts(
    plan: &Record,
    (paging, threads): (Option<paging::Plan>, Option<ThreadCount>),
    participants: Participants,
    console: Console,
) -> Outcome {
    enough_nodes(plan, participants.nodes())?;
    let program = program::examine(&plan.program.command)?;
    let recorded = hosts::record(plan, (paging, threads), &program, participants, console)?;
    let paging = recorded.paging.as_ref();
    let paged = paging.is_some_and(paging::Recorded::is_something);
    let left = Left {
        records: recorded.records,
        problems: &recorded.problems,
        code: code(recorded.exit_code, recorded.records > 0 || paged),
        wall_ns: recorded.wall_ns,
        watched: String::new(),
        paging,
        curve: None,
        teams: None,
    };
    tell(&plan.output, left, console)
}

/// What became of a run.
enum Run {
    Recorded(Box<Recorded>),
    /// One of several ranks, of which no recording could be made.
    Unrecorded(Ended),
}

impl Job<'_> {
    /// The only run. A rank that cannot be recorded says so and runs: the others would wait for
    /// it in MPI without end.
    fn run_once(&self, output: &Path, console: Console) -> Result<Run, Failure> {
        let stdout = Stdout::for_voice(console);
        let request = self.request(output, None, Stdin::Inherit, stdout);
        let Some(rank) = self.rank else {
            let recorded = recording::record(&request)?;
            return Ok(Run::Recorded(Box::new(recorded)));
        };
        let prepared = rank
            .prepare(&self.plan.output, self.plan.force)
            .and_then(|()| Prepared::new(&request));
        match prepared {
            Ok(prepared) => Ok(Run::Recorded(Box::new(prepared.run()?))),
            Err(failure) => {
                console.warn(format!(
                    "rank {} runs without being recorded: {}",
                    rank.number, failure.sentence
                ));
                Ok(Run::Unrecorded(recording::run_unrecorded(&request)?))
            }
        }
    }

    /// One run into a directory.
    fn run(
        &self,
        directory: &Path,
        group: Option<&Group>,
        stdin: Stdin,
        stdout: Stdout,
    ) -> Result<Recorded, Failure> {
        recording::record(&self.request(directory, group, stdin, stdout))
    }

    fn request<'a>(
        &'a self,
        directory: &'a Path,
        group: Option<&'a Group>,
        stdin: Stdin,
        stdout: Stdout,
    ) -> Request<'a> {
        let subject = Subject {
            program: &self.program,
            unpacked: &self.unpacked,
            runtime: self.runtime.as_ref(),
        };
        let destination = Destination {
            directory,
            existing: Existing::replaced_if(self.plan.force),
            max_bytes: self.plan.max_size.0,
        };
        let streams = Streams {
            stdin,
            stdout,
            stderr: Stderr::Inherit,
        };
        Request {
            teams: Teams {
                threads: self.threads,
                cluster: self.plan.cluster,
                decided: self.teams.as_ref(),
                ..Teams::default()
            },
            extras: Extras {
                accesses: self.plan.accesses.then_some(match self.plan.lines {
                    true => Of::Lines,
                    false => Of::Pages,
                }),
                paging: self.paging.as_ref(),
            },
            conditions: Conditions {
                group,
                beside_ranks: self.rank.is_some(),
                pace: self.rank.is_none().then_some(pace::SHORT),
                ..Conditions::default()
            },
            ..Request::new(subject, destination, streams)
        }
    }
}

/// Runs without a limit, then with each of them: what the first run recorded, and the
/// curve, which lies in `memory.json` beside it.
fn with_less_memory(
    job: &Job<'_>,
    output: &Path,
    limits: &[u64],
    console: Console,
) -> Result<(Recorded, Curve), Failure> {
    let mut memory = Memory::prepare()?;
    if !memory.swap {
        console.warn("this machine has no swap, so that under a limit only pages of files can make room: a program whose own data need more is killed; `fallocate -l 4G /swapfile; chmod 600 /swapfile; mkswap /swapfile; swapon /swapfile` makes some");
    }
    // Kept outside the recording, which does not exist yet.
    let spool = tempfile::NamedTempFile::new()
        .map_err(|error| Failure::unwritable(&std::env::temp_dir(), &error))?;
    let stdin = Stdin::for_several_runs(spool.path().to_owned());
    let seen = |recorded: &Recorded| (recorded.ended, recorded.page_ins);
    let first = |group: &Group| {
        let stdout = Stdout::for_voice(console);
        job.run(output, Some(group), stdin.for_run(true), stdout)
    };
    let first = memory.run(None, first, seen)?;
    for &limit in limits {
        let stopped = first.ended.interrupted.is_some() || memory.is_asked_to_stop();
        if stopped {
            console.warn("stopped: the remaining limits were not tried");
            break;
        }
        console.say(format!("once more, with {} of memory", Size(limit)));
        let directory = of_limit(output, limit)?;
        let again = |group: &Group| {
            let stdin = stdin.for_run(false);
            job.run(&directory, Some(group), stdin, Stdout::Discard)
        };
        memory.run(Some(limit), again, seen)?;
    }
    let curve = memory.curve();
    let json = serde_json::to_vec_pretty(&curve)?;
    output::write_file(&output.join(paging::MEMORY_FILE), &json)?;
    Ok((first, curve))
}

/// Where the recording with a limit goes: `RECORDING/memory/512M`.
fn of_limit(output: &Path, limit: u64) -> Result<PathBuf, Failure> {
    let parent = output.join("memory");
    fs::create_dir_all(&parent).map_err(|error| Failure::unwritable(&parent, &error))?;
    Ok(parent.join(Size(limit).to_string()))
}

/// The program's exit code; ours if it ended well and there is nothing to show
/// for it.
fn code(of_program: u8, is_something: bool) -> u8 {
    match of_program {
        0 if !is_something => exit::LAUNCHER,
        code => code,
    }
}

/// Threads per node; one where accesses are recorded.
fn threads(plan: &Record) -> Result<Option<ThreadCount>, Failure> {
    let one = Some(ThreadCount(1));
    match plan.accesses {
        false => Ok(plan.threads),
        true if plan.threads.is_none() || plan.threads == one => Ok(one),
        true => Err(Failure::new(
            "accesses are recorded of one thread on each node: give as many nodes as threads and leave --threads out",
        )
        .with_code(exit::USAGE)),
    }
}

/// Refuses to record accesses where nodes share none.
fn enough_nodes(plan: &Record, nodes: u16) -> Result<(), Failure> {
    match plan.accesses && nodes < 2 {
        true => Err(Failure::new(
            "accesses are recorded on nodes: give --nodes with as many as threads, or hosts with several nodes",
        )
        .with_code(exit::USAGE)),
        false => Ok(()),
    }
}

/// Says what was recorded. The command's exit code.
fn tell(output: &Path, left: Left<'_>, console: Console) -> Outcome {
    for problem in left.problems {
        console.warn(problem);
    }
    let shown = output.display();
    if left.records > 0 {
        console.say(format!(
            "recorded {} events{} in {shown}: see `fathomp regions {shown}`",
            left.records, left.watched,
        ));
    }
    if let Some(paging) = left.paging.filter(|paging| paging.is_something()) {
        let coverage = paging.coverage().map(|said| format!(" ({said})"));
        console.say(match &paging.elsewhere {
            Some(address) => format!(
                "recorded the paging of {} at {address}: see `fathomp skyline` there",
                some(paging.processes, "process", "processes"),
            ),
            None => format!(
                "recorded the paging of {} of {} in {shown}{}: see `fathomp skyline {shown}`",
                some(paging.tasks, "task", "tasks"),
                some(paging.processes, "process", "processes"),
                coverage.unwrap_or_default(),
            ),
        });
    }
    if let Some(curve) = left.curve {
        for line in paging::table(curve) {
            console.say(line);
        }
        console.say(&curve.sentence);
    }
    if console.json {
        let answer = Answer {
            recording: output,
            records: left.records,
            problems: left.problems,
            exit_code: left.code,
            wall_ns: left.wall_ns,
            paging: left.paging.map(|paging| Paging {
                tasks: paging.tasks,
                processes: paging.processes,
                io_calls_seen: paging.io_calls.map(|(seen, _)| seen),
                io_calls_made: paging.io_calls.map(|(_, made)| made),
            }),
            memory: left.curve,
            teams: left.teams,
        };
        console.result("fathomp.record", &answer, String::new)?;
    }
    Ok(left.code)
}

/// The runtimes that were watched, if any: ` of libgomp (of gcc 12)`.
fn watched(observed: &[Observed]) -> String {
    let mut names: Vec<&str> = observed
        .iter()
        .filter(|one| one.witness.is_some())
        .map(|one| one.runtime.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [] => String::new(),
        _ => format!(" of {}", names.join(" and ")),
    }
}

/// `1 task`, `3 tasks`.
fn some(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}
