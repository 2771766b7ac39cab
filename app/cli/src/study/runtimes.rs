//! One program on several OpenMP runtimes: interleaved runs, and their regions side by side.

use super::Study;
use super::team::counted;
use super::versus::compare;
use crate::args::RuntimeArg;
use crate::console::Console;
use crate::failure::Failure;
use crate::host;
use crate::launch::{Repeatable, Stderr, Stdout};
use crate::load;
use crate::program::Program;
use crate::progress::Progress;
use crate::recording::{self, Conditions, Destination, Recorded, Request, Streams, Subject, Teams};
use crate::runtimes::Watched;
use fathomp_analysis::Analysis;
use fathomp_report::runtimes::Versus;
use fathomp_runtime::Unpacked;
use fathomp_types::Ending::Signalled;
use std::path::{Path, PathBuf};

/// Bytes each recording may take.
const RECORDING_BYTES_MAX: u64 = 32 << 20;
/// Rounds where the user does not say how many: as few as give an interval that means anything.
pub(crate) const ROUNDS: u32 = 5;

/// A runtime of the comparison.
pub(crate) struct Lane {
    asked: RuntimeArg,
    /// None if it is ours.
    watched: Option<Watched>,
}

/// Runs on several runtimes.
pub(crate) struct Job<'a> {
    pub(crate) console: Console,
    pub(crate) program: &'a Program,
    pub(crate) unpacked: &'a Unpacked,
    pub(crate) threads: &'a [u32],
    pub(crate) rounds: u32,
    pub(crate) progress: &'a Progress,
    pub(crate) stdin: Repeatable,
}

/// How the runs went.
pub(crate) struct Compared {
    /// By number of threads.
    pub(crate) tables: Vec<Versus>,
    /// Exit code of the first run that failed, or was stopped.
    pub(crate) failed: Option<u8>,
}

/// The runtimes of a comparison, all of which must be able to run the program.
///
/// # Errors
/// A sentence if one cannot.
pub(crate) fn lanes(
    asked: &[RuntimeArg],
    program: &Program,
    unpacked: &Unpacked,
) -> Result<Vec<Lane>, Failure> {
    let lane = |asked: &RuntimeArg| {
        let watched = Watched::prepare(asked, program, unpacked)
            .map_err(|error| Failure::of(&error).with_code(crate::failure::exit::USAGE))?;
        Ok(Lane {
            asked: asked.clone(),
            watched,
        })
    };
    asked.iter().map(lane).collect()
}

impl Job<'_> {
    /// All runs: in each round each runtime once, in an order that turns from round to round, so
    /// that what drifts or disturbs meets all of them alike.
    pub(crate) fn run(&self, study: &mut Study, lanes: &[Lane]) -> Result<Compared, Failure> {
        let names: Vec<String> = lanes.iter().map(|lane| lane.asked.to_string()).collect();
        let mut compared = Compared {
            tables: Vec::new(),
            failed: None,
        };
        let mut done = 0;
        for &threads in self.threads {
            let mut runs: Vec<Vec<Analysis>> = lanes.iter().map(|_| Vec::new()).collect();
            for round in 0..self.rounds {
                for turn in 0..lanes.len() {
                    let at = (turn + round as usize) % lanes.len();
                    done += 1;
                    let words = format!("{} on {}", names[at], counted(threads));
                    self.progress.at(done, format!("running on {words}"));
                    let name = directory(at, threads, round);
                    let recorded = self.run_one(study, &lanes[at], &name, threads, done == 1)?;
                    let code = recorded.ended.exit_code();
                    if let Some(signal) = recorded.ended.interrupted {
                        study.index.notes.push(format!(
                            "The comparison was interrupted by signal {signal}."
                        ));
                        compared.failed = Some(Signalled(signal).shell_code());
                        return Ok(compared);
                    }
                    if code != 0 || recorded.records == 0 {
                        let how = recorded.ended.describe();
                        let why = recorded.problems.join(" ");
                        study
                            .index
                            .notes
                            .push(format!("A run with {words} ended with {how}. {why}"));
                        compared.failed.get_or_insert(code.max(1));
                        return Ok(compared);
                    }
                    for problem in recorded.problems {
                        if !study.index.notes.contains(&problem) && round == 0 {
                            study.index.notes.push(problem);
                        }
                    }
                    study.index.recordings.push(name.clone());
                    study.save()?;
                    let path = study.path(&name.to_string_lossy());
                    runs[at].push(load::open(&path, None)?.analysis);
                }
            }
            compared.tables.push(compare(threads, &names, &runs));
        }
        Ok(compared)
    }

    fn run_one(
        &self,
        study: &Study,
        lane: &Lane,
        name: &Path,
        threads: u32,
        first: bool,
    ) -> Result<Recorded, Failure> {
        let directory = study.path(&name.to_string_lossy());
        let complaints = directory.with_extension("stderr");
        let subject = Subject {
            program: self.program,
            unpacked: self.unpacked,
            runtime: lane.watched.as_ref(),
        };
        let streams = Streams {
            stdin: self.stdin.for_run(first),
            stdout: match (first, self.console.quiet) {
                // The table is for stdout, and the program has been seen once.
                (true, false) => Stdout::ToStderr,
                _ => Stdout::Discard,
            },
            stderr: match first {
                true => Stderr::Inherit,
                false => Stderr::File(complaints.clone()),
            },
        };
        let destination = Destination::replacing(&directory, RECORDING_BYTES_MAX);
        let request = Request {
            teams: Teams::of(threads),
            conditions: Conditions {
                pace: Some(host::pace::THOROUGH),
                ..Conditions::default()
            },
            ..Request::new(subject, destination, streams)
        };
        let recorded = match first {
            true => self.progress.aside(|| recording::record(&request))?,
            false => recording::record(&request)?,
        };
        if std::fs::metadata(&complaints).is_ok_and(|found| found.len() == 0) {
            // Best effort: an empty file does no harm.
            let _ = std::fs::remove_file(&complaints);
        }
        Ok(recorded)
    }
}

/// Where the recording of a run goes, relative to the study.
fn directory(lane: usize, threads: u32, round: u32) -> PathBuf {
    Path::new("recordings").join(format!(
        "{threads}-threads-runtime-{}-run-{}",
        lane + 1,
        round + 1
    ))
}
