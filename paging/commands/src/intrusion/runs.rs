//! The runs: all of a round before the next, so that a slow drift of the machine spreads over
//! all writers, and in random order within it, so that none always follows another.

use super::facts;
use super::place::Prepared;
use super::runner::Runner;
use crate::plan::Plan;
use fathomp_bench::intrusion::{Recorded, Round, Run};
use fathomp_console::compare;
use fathomp_console::console::Console;
use fathomp_console::failure::Failure;
use fathomp_console::launch::{Capture, Ended, Printed, Repeatable, Stderr, Stdout, Streams};
use fathomp_console::progress::Progress;
use fathomp_stats::Random;
use std::time::Duration;

/// What all runs share.
pub(super) struct Runs<'a> {
    pub(super) plan: &'a Plan,
    pub(super) runner: &'a dyn Runner,
    pub(super) console: Console,
    pub(super) progress: &'a Progress,
    pub(super) stdin: Repeatable,
    pub(super) writers: &'a [Prepared],
    pub(super) order: Random,
    /// Runs made so far.
    pub(super) done: usize,
}

/// The rounds that were made.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) rounds: Vec<Round>,
    warnings: Vec<Warning>,
    /// Writers that could not be used.
    broken: Vec<String>,
    /// Exit code of the program.
    pub(super) exit_code: u8,
    /// Ctrl-C or the like: rounds that were complete by then are there.
    pub(super) interrupted: Option<i32>,
}

/// What was noticed in runs with some writers.
struct Warning {
    writers: Vec<String>,
    sentence: String,
}

/// A run that was made, and what shows whether it was as it should be.
struct Made {
    run: Run,
    ended: Ended,
    printed: Printed,
}

impl Runs<'_> {
    /// Rounds of runs, after one that fills the caches and shows what the program says.
    pub(super) fn take(&mut self, rounds: u32) -> Result<Taken, Failure> {
        let mut taken = Taken::default();
        self.progress.at(0, "running for the first time");
        let first = self.without(true)?;
        taken.exit_code = first.ended.exit_code();
        taken.interrupted = first.ended.interrupted;
        for round in 0..rounds {
            if taken.interrupted.is_some() {
                break;
            }
            self.round(round, rounds, &first, &mut taken)?;
        }
        Ok(taken)
    }

    fn round(
        &mut self,
        round: u32,
        rounds: u32,
        first: &Made,
        taken: &mut Taken,
    ) -> Result<(), Failure> {
        let writers = self.writers;
        let mut order: Vec<Option<&Prepared>> = writers.iter().map(Some).chain([None]).collect();
        self.order.shuffle(&mut order);
        let (mut plain, mut outputs) = (None, Vec::new());
        let mut runs = Vec::new();
        for way in order {
            self.done += 1;
            let name = way.map_or("without recording", |way| &way.name);
            let doing = format!("round {} of {rounds}: {name}", round + 1);
            self.progress.at(self.done, doing);
            let made = match way {
                None => self.without(false)?,
                // What does not work is not tried again.
                Some(way) if taken.broken.contains(&way.name) => continue,
                Some(way) => match self.with(way, taken) {
                    Ok(made) => made,
                    Err(failure) => {
                        runs.push(not_recorded(way, failure.sentence));
                        taken.broken.push(way.name.clone());
                        continue;
                    }
                },
            };
            if made.ended.interrupted.is_some() {
                taken.interrupted = made.ended.interrupted;
                return Ok(());
            }
            let mut run = made.run;
            if made.ended.exit_code() != first.ended.exit_code() {
                let problem = format!(
                    "it ended with {} instead of {}",
                    made.ended.describe(),
                    first.ended.describe()
                );
                run.problem.get_or_insert(problem);
            }
            match way {
                None => plain = Some(made.printed),
                Some(way) if run.problem.is_none() => outputs.push((way, made.printed)),
                Some(_) => {}
            }
            runs.push(run);
        }
        if let Some(plain) = plain {
            compare_outputs([&first.printed, &plain], &outputs, taken);
        }
        taken.rounds.push(Round { runs });
        Ok(())
    }

    /// Where what the program writes goes. The table has stdout for itself.
    fn capture(&self, first: bool) -> Capture {
        let stdout = match first && !self.console.quiet {
            true => Stdout::ToStderr,
            false => Stdout::Discard,
        };
        stdout.captured()
    }

    /// Where a run reads and writes. What it complains is heard once.
    fn streams(&self, first: bool, capture: &Capture) -> Streams {
        Streams {
            stdin: self.stdin.for_run(first),
            stdout: Stdout::Capture(capture.clone()),
            stderr: match first {
                true => Stderr::Inherit,
                false => Stderr::Discard,
            },
        }
    }

    /// A run without recording, but with the same runtime.
    fn without(&self, first: bool) -> Result<Made, Failure> {
        let capture = self.capture(first);
        let streams = self.streams(first, &capture);
        let run = || self.runner.plain(streams);
        let ended = match first {
            // The program has the terminal to itself.
            true => self.progress.aside(run),
            false => run(),
        }?;
        Ok(made(ended, &capture, None))
    }

    /// A run that is recorded by one of the writers.
    fn with(&self, way: &Prepared, taken: &mut Taken) -> Result<Made, Failure> {
        let (writer, key, host) = way.begin()?;
        let capture = self.capture(false);
        let plan = Plan {
            writer,
            key: key.or_else(|| self.plan.key.clone()),
            ..self.plan.clone()
        };
        let streams = self.streams(false, &capture);
        let (ended, problems) = self.runner.recorded(&plan, &way.directory, streams)?;
        if let Some(host) = host {
            host.finish()?;
        }
        let facts = facts::read(&way.streams(), &way.name)?;
        for problem in problems {
            taken.warn(&way.name, problem);
        }
        let nothing = facts.state_changes == 0;
        let mut made = made(ended, &capture, Some(facts));
        made.run.problem = nothing.then(|| "nothing was recorded".to_owned());
        Ok(made)
    }
}

impl Taken {
    /// Keeps a sentence about runs with a writer. Sentences differ in numbers; one is enough.
    fn warn(&mut self, writer: &str, sentence: String) {
        let kind = |sentence: &str| sentence.replace(|c: char| c.is_ascii_digit(), "");
        let known = self
            .warnings
            .iter_mut()
            .find(|known| kind(&known.sentence) == kind(&sentence));
        match known {
            Some(known) if known.writers.iter().any(|one| one == writer) => {}
            Some(known) => known.writers.push(writer.to_owned()),
            None => self.warnings.push(Warning {
                writers: vec![writer.to_owned()],
                sentence,
            }),
        }
    }

    /// What makes the rounds doubtful.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.warnings.iter().map(|one| {
            let mut writers = one.writers.clone();
            writers.sort();
            format!("{}: {}", writers.join(", "), one.sentence)
        })
    }
}

/// Says whether the program wrote anything else when it was recorded. What differs between
/// two runs without recording is not for recording.
fn compare_outputs(plain: [&Printed; 2], outputs: &[(&Prepared, Printed)], taken: &mut Taken) {
    for (way, printed) in outputs {
        // By their numbers the run that is to be like the other is told from it.
        let run = |threads, printed| compare::Run { threads, printed };
        let runs = [run(1, plain[1]), run(2, printed)];
        let found = compare::differences(&runs, &[plain[0]]);
        let Some(difference) = found.into_iter().flatten().next() else {
            continue;
        };
        let sentence = format!(
            "What the program wrote differs from what it wrote without recording, first in line {}.",
            difference.line
        );
        taken.warn(&way.name, sentence);
    }
}

/// A run that could not be recorded, for this reason.
fn not_recorded(way: &Prepared, why: String) -> Run {
    Run {
        wall_ns: 0,
        user_ns: 0,
        system_ns: 0,
        problem: Some(why),
        recorded: Some(Recorded {
            writer: way.name.clone(),
            ..Recorded::default()
        }),
    }
}

fn made(ended: Ended, capture: &Capture, recorded: Option<Recorded>) -> Made {
    let [user_ns, system_ns] = ended.processor.unwrap_or_default().map(nanoseconds);
    Made {
        run: Run {
            wall_ns: ended.wall_ns(),
            user_ns,
            system_ns,
            problem: None,
            recorded,
        },
        ended,
        printed: capture.take(),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
