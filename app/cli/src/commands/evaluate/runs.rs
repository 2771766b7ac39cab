//! The runs of an evaluation: programs interleaved, as many rounds as the budget allows.

use super::kept::{Kept, Measured, Run};
use crate::args::Evaluating;
use crate::commands::workload::Workshop;
use crate::console::Console;
use crate::failure::Failure;
use crate::launch::{Stderr, Stdin, Stdout};
use crate::program;
use crate::progress::Progress;
use crate::recording::{self, Conditions, Destination, Request, Streams, Subject, Teams};
use fathomp_advise::Target;
use fathomp_launch::OpenMp;
use fathomp_runtime::Unpacked;
use fathomp_workloads::{Class, Workload};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes each recording may take: only sums are of interest.
const RECORDING_BYTES: u64 = 4 << 20;
/// Sizes that are tried one after the other where one takes too long.
const SMALLER: [&str; 6] = ["3x", "1x", "extralarge", "large", "medium", "small"];
/// No run is worth less time than this.
const RUN_TIMEOUT_MIN: Duration = Duration::from_secs(1);

/// Threads stay where they are; packages are filled one after the other.
fn pinned() -> OpenMp {
    OpenMp {
        places: Some("cores".into()),
        proc_bind: Some("close".into()),
        schedule: Some("static".into()),
        ..OpenMp::default()
    }
}

/// Runs the programs of `asked` and keeps what was recorded in `directory`. Its budget began
/// at `begun`: building and measuring the machine are part of it.
pub(super) fn measure(
    asked: &Evaluating,
    target: &Target,
    directory: &Path,
    begun: Instant,
    (console, notes): (Console, &mut Vec<String>),
) -> Result<Kept, Failure> {
    let (unit, units) = units(target);
    let mut kept = Kept::new(unit, units, target.packages);
    std::fs::create_dir_all(directory.join("recordings"))
        .map_err(|error| Failure::unwritable(directory, &error))?;
    Kept::save_machine(directory, &target.machine)?;
    let workloads: Vec<&Workload> = {
        let mut chosen: Vec<&Workload> = Vec::new();
        for workload in asked.programs.iter().flat_map(|names| &names.0) {
            if !chosen.contains(&workload) {
                chosen.push(workload);
            }
        }
        chosen
    };
    let mut counts = vec![1, unit];
    counts.extend(
        (0..)
            .map(|shift| unit << shift)
            .take_while(|n| *n < unit * units),
    );
    counts.push(unit * units);
    counts.sort_unstable();
    counts.dedup();
    let rounds = asked.repeat as usize;
    let progress = Progress::start(console, workloads.len() * (rounds + 1));
    let shop = Workshop::open(&asked.making)?;
    let mut job = Job {
        asked,
        directory,
        shop,
        unpacked: fathomp_runtime::unpack()?,
        begun,
        made: 0,
        limit: Duration::ZERO,
    };
    // All are built first, so that no compiler runs beside what is measured; that takes at
    // most half of the time.
    let mut built = Vec::new();
    let mut late: Vec<String> = Vec::new();
    for (done, workload) in workloads.iter().enumerate() {
        if begun.elapsed() > asked.budget.0 / 2 {
            late.push(workload.full_name());
            continue;
        }
        progress.at(done, format!("building {}", workload.full_name()));
        match job.shop.build(workload, asked.class, true) {
            Ok(_) => built.push(*workload),
            Err(error) => notes.push(format!(
                "{} was left out: {}.",
                workload.full_name(),
                Failure::of(&error).sentence
            )),
        }
    }
    let runs = (built.len() * (rounds.min(3) * counts.len() + 1)).max(1);
    job.limit = (job.left() / runs as u32).max(RUN_TIMEOUT_MIN) * 2;
    let mut chosen: Vec<Chosen<'_>> = Vec::new();
    for (done, workload) in built.iter().enumerate() {
        progress.at(
            workloads.len() + done,
            format!("sizing {}", workload.full_name()),
        );
        if job.left().is_zero() {
            late.push(workload.full_name());
            continue;
        }
        match job.size(workload, notes)? {
            Some((one, recording)) => {
                kept.programs.push(Measured {
                    benchmark: workload.full_name(),
                    size: one.size.clone(),
                    runs: vec![Run {
                        threads: 1,
                        recording,
                    }],
                });
                chosen.push(one);
            }
            None => notes.push(format!(
                "{} was left out: even its smallest size takes longer than {:.1} s.",
                workload.full_name(),
                job.limit.as_secs_f64()
            )),
        }
    }
    if !late.is_empty() {
        notes.push(format!(
            "The budget of {:.0} s, which building and measuring the machine are part of, left no time for {}.",
            asked.budget.0.as_secs_f64(),
            late.join(", ")
        ));
    }
    // A size that was fit for one thread is not given up for a moment's disturbance.
    job.limit *= 3;
    let mut whole = 0;
    'rounds: for round in 0..rounds {
        for (index, one) in chosen.iter().enumerate() {
            progress.at(
                workloads.len() + built.len() + round * chosen.len() + index,
                format!(
                    "round {} of {rounds}: {}",
                    round + 1,
                    one.workload.full_name()
                ),
            );
            // The order changes, so that drifts do not favour one number of threads.
            let mut order = counts.clone();
            if round % 2 == 1 {
                order.reverse();
            }
            for threads in order {
                if round == 0 && threads == 1 {
                    // That was the run that found the size.
                    continue;
                }
                if job.left().is_zero() {
                    break 'rounds;
                }
                if let Some(recording) = job.run(one, threads)? {
                    kept.programs[index].runs.push(Run { threads, recording });
                }
            }
        }
        whole += 1;
        kept.save(directory)?;
    }
    progress.finish();
    if whole < rounds {
        kept.notes.push(format!(
            "The budget of {:.0} s sufficed for {whole} whole rounds of {rounds}.",
            asked.budget.0.as_secs_f64()
        ));
    }
    kept.save(directory)?;
    Ok(kept)
}

/// Threads of a unit, and units: packages where there are several, otherwise cores.
fn units(target: &Target) -> (u32, u32) {
    match target.packages {
        0 | 1 => (1, target.machine.cores.max(2)),
        packages => (target.cores_per_package(), packages),
    }
}

/// A workload with a size that the budget allows.
struct Chosen<'a> {
    workload: &'a Workload,
    program: program::Program,
    size: String,
}

struct Job<'a> {
    asked: &'a Evaluating,
    directory: &'a Path,
    shop: Workshop,
    unpacked: Unpacked,
    begun: Instant,
    /// Recordings made.
    made: usize,
    /// Time for one run.
    limit: Duration,
}

impl Job<'_> {
    /// What is left of the budget.
    fn left(&self) -> Duration {
        self.asked.budget.0.saturating_sub(self.begun.elapsed())
    }

    /// The largest size, from the one asked for on, with which a run ends in time.
    fn size<'w>(
        &mut self,
        workload: &'w Workload,
        notes: &mut Vec<String>,
    ) -> Result<Option<(Chosen<'w>, PathBuf)>, Failure> {
        for (class, size) in self.sizes(workload) {
            let built = self.shop.build(workload, class, true)?;
            let arguments = workload.size_arguments(class, size.as_deref());
            let mut command = vec![OsString::from(&built.path)];
            command.extend(arguments.iter().map(OsString::from));
            if crate::commands::workload::fits(
                workload,
                class,
                size.as_deref(),
                &built.path,
                &arguments,
            )
            .is_err()
            {
                continue;
            }
            let chosen = Chosen {
                workload,
                program: program::examine(&command)?,
                size: workload.size(class, size.as_deref()),
            };
            match self.run(&chosen, 1)? {
                Some(recording) => return Ok(Some((chosen, recording))),
                None => notes.push(format!(
                    "{} takes longer than {:.1} s with size {}: a smaller one was taken.",
                    workload.full_name(),
                    self.limit.as_secs_f64(),
                    chosen.size
                )),
            }
        }
        Ok(None)
    }

    fn sizes(&self, workload: &Workload) -> Vec<(Class, Option<String>)> {
        if workload.suite.sized_when_built() {
            let largest = self.asked.class;
            let classes = Class::ALL.into_iter().rev();
            return classes
                .filter(|class| *class <= largest)
                .map(|class| (class, None))
                .collect();
        }
        let asked = &self.asked.size[..];
        let after = SMALLER.iter().position(|size| *size == asked);
        let from = after.map_or(0, |at| at + 1);
        [asked]
            .into_iter()
            .chain(SMALLER[from..].iter().copied())
            .map(|size| (Class::A, Some(size.to_owned())))
            .collect()
    }

    /// A run; none if it did not end well, or not in time.
    fn run(&mut self, one: &Chosen<'_>, threads: u32) -> Result<Option<PathBuf>, Failure> {
        let name = Path::new("recordings").join(self.made.to_string());
        let directory = self.directory.join(&name);
        let subject = Subject {
            program: &one.program,
            unpacked: &self.unpacked,
            runtime: None,
        };
        let streams = Streams {
            stdin: Stdin::File(PathBuf::from("/dev/null"), 0),
            stdout: Stdout::Discard,
            stderr: Stderr::File(directory.with_extension("stderr")),
        };
        let destination = Destination::replacing(&directory, RECORDING_BYTES);
        let recorded = recording::record(&Request {
            teams: Teams {
                openmp: pinned(),
                ..Teams::of(threads)
            },
            conditions: Conditions {
                timeout: Some(self.limit.min(self.left().max(RUN_TIMEOUT_MIN))),
                ..Conditions::default()
            },
            ..Request::new(subject, destination, streams)
        })?;
        if let Some(signal) = recorded.ended.interrupted {
            return Err(Failure::new(format!(
                "interrupted by signal {signal}: what was recorded so far can be evaluated with --load if it was kept with --save"
            )));
        }
        if recorded.ended.exit_code() != 0 || recorded.records == 0 {
            // Best effort: what did not end is of no use.
            let _ = std::fs::remove_dir_all(&directory);
            return Ok(None);
        }
        self.made += 1;
        Ok(Some(name))
    }
}
