//! `fathomp record`: one run, one recording; or several runs with less and less memory.

use super::cluster;
use super::measure_intrusion::measure_intrusion;
use super::record_end::{Left, code, tell};
use super::record_ranks;
use crate::args::{Record, ThreadCount};
use crate::console::{Console, complain};
use crate::failure::{Failure, Outcome, exit};
use crate::host::pace;
use crate::launch::{Ended, Stderr, Stdin, Stdout};
use crate::paging::{self, Group};
use crate::program::{self, Program};
use crate::progress::slowly;
use crate::ranks;
use crate::recording::rank::{self, Rank};
use crate::recording::{
    self, Conditions, Destination, Extras, Prepared, Recorded, Request, Streams, Subject, Teams,
};
use crate::runtimes::Watched;
use crate::teams::Decided;
use fathomp_runtime::Unpacked;
use fathomp_trace::drain::Observed;
use fathomp_trace::writer::Existing;
use std::path::Path;

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
    let threads = plan.nodes.threads(plan.threads);
    if let Some(code) = cluster::record(plan, (&paging, threads), console)? {
        return Ok(code);
    }
    let program = program::examine(&plan.program.command)?;
    // Paging is recorded of all processes together.
    if paging.is_none()
        && let Some(code) = record_ranks::record(plan, &program, console)?
    {
        return Ok(code);
    }
    ranks::tell_of_others(&program, console);
    let nodes = plan.nodes.cluster().map_or(1, |cluster| cluster.nodes);
    if let Some(warning) = program.on_nodes(nodes)? {
        console.warn(warning);
    }
    let launcher = |failure: Failure| failure.with_code(exit::LAUNCHER);
    let unpacked = fathomp_runtime::unpack().map_err(|error| launcher(error.into()))?;
    let measured = measure_intrusion(plan, paging.as_ref(), (&program, &unpacked), console);
    if let Some(code) = measured.map_err(launcher)? {
        return Ok(code);
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
        None => {
            rank::make_way(&plan.output, plan.force).map_err(launcher)?;
            plan.output.clone()
        }
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
    if let Some(rank) = rank.filter(|_| plan.paging.limits_memory()) {
        rank.prepare(&plan.output, plan.force).map_err(launcher)?;
    }
    let run = |directory: &Path, group: &Group, stdin, stdout| {
        job.run(directory, Some(group), stdin, stdout)
    };
    let seen = |recorded: &Recorded| (recorded.ended, recorded.page_ins);
    let made = paging::with_less_memory(&plan.paging, &output, console, run, seen);
    let (recorded, curve) = match made.map_err(launcher)? {
        None => match job.run_once(&output, console).map_err(launcher)? {
            Run::Recorded(recorded) => (*recorded, None),
            Run::Unrecorded(ended) => return Ok(ended.exit_code()),
        },
        Some((recorded, curve)) => (recorded, Some(curve)),
    };
    if let Some(sentence) = recorded.ended.of_nodes(nodes) {
        complain("", &sentence);
    }
    let paging = recorded.paging.as_ref();
    let paged = paging.is_some_and(paging::Recorded::is_something);
    let left = Left {
        of_ranks: rank.map(|_| plan.output.as_path()),
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
                cluster: self.plan.nodes.cluster(),
                decided: self.teams.as_ref(),
                ..Teams::default()
            },
            extras: Extras {
                accesses: cluster::accesses(self.plan),
                paging: self.paging.as_ref(),
            },
            conditions: Conditions {
                group,
                ranks: self.rank.map(|rank| rank.size),
                pace: self.rank.is_none().then_some(pace::SHORT),
                ..Conditions::default()
            },
            ..Request::new(subject, destination, streams)
        }
    }
}

/// The runtimes that were watched, if any: ` of libgomp (of gcc 12)`.
fn watched(observed: &[Observed]) -> String {
    let mut names: Vec<&str> = observed
        .iter()
        .filter(|one| one.foreign_recorder.is_some())
        .map(|one| one.runtime.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [] => String::new(),
        _ => format!(" of {}", names.join(" and ")),
    }
}
