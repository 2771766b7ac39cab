//! The runs of a study: those with each number of threads, and a rehearsal with more of them.

use super::team::Team;
use super::{SAMPLES, Study, whereabouts};
use crate::args::{Study as Plan, ThreadCount};
use crate::console::Console;
use crate::failure::{Failure, exit};
use crate::launch::{self, Ended, Launch, Printed, Repeatable, Stderr, Stdout};
use crate::program::Program;
use crate::progress::Progress;
use crate::recording::{self, Conditions, Destination, Recorded, Request, Streams, Subject, Teams};
use crate::runtimes::Watched;
use crate::{compare, host, load, output};
use fathomp_analysis::Analysis;
use fathomp_analysis::samples::Samples;
use fathomp_diagnosis::{Diagnosis, Kind};
use fathomp_predict::machine::Machine;
use fathomp_runtime::Unpacked;
use fathomp_trace::model::Output;
use fathomp_trace::writer;
use fathomp_types::Ending::Signalled;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes each recording may take; several are read for one report.
const RECORDING_BYTES_MAX: u64 = 64 << 20;
/// More threads than this tell little more about how work divides.
const REHEARSAL_THREADS_MAX: u32 = 64;
/// Many threads on few processors may take longer than any measured run: so many times
/// as long is allowed, and this much on top.
const REHEARSAL_PATIENCE: u32 = 4;
const REHEARSAL_LEAST: Duration = Duration::from_secs(3);

/// Runs that other programs disturbed are made so many times more at most, within this time or
/// that which all runs have taken.
const AGAIN_MAX: u32 = 3;
const AGAIN_LEAST: Duration = Duration::from_secs(10);

/// With most threads a program is to be so many times as fast as with fewest; where it is not,
/// threads hinder each other, now more and now less, so that one run with each number tells too
/// little. So there are this many more if all took no longer than this.
const GAINING: f64 = 1.2;
const MORE: u32 = 2;
const MORE_AT_MOST: Duration = Duration::from_secs(2);

/// What a look of its own would explain must be this part of the whole time.
pub(crate) const UNEXPLAINED_SHARE_MIN: f64 = 0.05;

/// What sentences about runs without a recording begin with.
const NOTHING: &str = "Nothing was recorded";

/// Hosts on which a study's programs run.
pub(crate) trait Elsewhere {
    /// The command that runs in the program's place: it records the program on so many nodes, each with
    /// so many threads, into a directory.
    fn recorder(&self, program: &Program, size: (u16, u32), directory: &Path) -> Program;
}

/// What all runs of a study share.
pub(crate) struct Job<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) console: Console,
    pub(crate) program: &'a Program,
    pub(crate) unpacked: &'a Unpacked,
    /// The runtime, if it is not ours.
    pub(crate) runtime: Option<&'a Watched>,
    pub(crate) teams: &'a [Team],
    /// The hosts, if it runs there.
    pub(crate) across: Option<&'a dyn Elsewhere>,
    pub(crate) progress: &'a Progress,
    pub(crate) stdin: Repeatable,
    pub(crate) machine: Option<&'a Machine>,
}

/// How the runs went, taken together.
#[derive(Default)]
pub(crate) struct Runs {
    pub(crate) analyses: Vec<Analysis>,
    /// What the runs wrote, as many as there are analyses.
    pub(crate) printed: Vec<(u32, Printed)>,
    /// Exit code of the first run that failed.
    pub(crate) failed: Option<u8>,
    /// Ctrl-C or the like: no more runs, and this exit code.
    pub(crate) interrupted: Option<u8>,
    pub(crate) records: u64,
    /// How long all runs have taken, and to read what they recorded.
    elapsed: Duration,
    /// What was noticed in any run, each once.
    pub(crate) problems: Vec<String>,
}

impl Runs {
    /// Those with this team.
    fn of(&self, team: Team) -> impl Iterator<Item = &Analysis> {
        let all = self.printed.iter().zip(&self.analyses);
        all.filter(move |((threads, _), _)| *threads == team.threads())
            .map(|(_, analysis)| analysis)
    }
}

impl Job<'_> {
    /// All runs: every team before the first repetition, so that a slow drift of the machine
    /// spreads over all of them.
    pub(crate) fn record_all(&self, study: &mut Study) -> Result<Runs, Failure> {
        let mut runs = Runs::default();
        // The input that the first run of all has kept is there.
        let mut first = !study.path("stdin").is_file();
        let mut done = 0;
        let repeats = self.plan.repeat.unwrap_or(1);
        for repeat in 0..repeats {
            for team in self.teams {
                done += 1;
                self.progress
                    .at(done, format!("running on {}", team.counted()));
                let name = Study::recording(*team, repeat, repeats);
                if self.take_over(study, &name, *team, &mut runs)? {
                    continue;
                }
                let ended = self.record_one(study, &name, *team, first, &mut runs)?;
                first = false;
                if let Some(signal) = ended.interrupted {
                    study.index.notes.push(format!(
                        "The study was interrupted by signal {signal} after {done} of {} runs.",
                        self.teams.len() * repeats as usize
                    ));
                    runs.interrupted = Some(Signalled(signal).shell_code());
                    return Ok(runs);
                }
            }
        }
        self.take_over_rest(study, &mut runs)?;
        Ok(runs)
    }

    /// Runs a short program a few times more with each number of threads, if it gains little by
    /// more of them and the user has not said how often to run it.
    pub(crate) fn record_more(&self, study: &mut Study, runs: &mut Runs) -> Result<(), Failure> {
        let wall_ns = |team| runs.of(team).map(|run| run.wall_ns).next();
        let gains = match self.teams {
            [fewest, .., most] => match (wall_ns(*fewest), wall_ns(*most)) {
                (Some(fewest), Some(most)) => fewest as f64 >= GAINING * most as f64,
                _ => true,
            },
            _ => true,
        };
        let all = self.plan.repeat.is_some() || self.plan.goes_on;
        if all || gains || runs.elapsed > MORE_AT_MOST {
            return Ok(());
        }
        for _ in 0..MORE {
            for team in self.teams {
                if runs.failed.is_none() && runs.interrupted.is_none() {
                    self.record_once_more(study, *team, "", runs)?;
                }
            }
        }
        Ok(())
    }

    /// Runs that other programs disturbed once more, up to [`AGAIN_MAX`] times each, as long as that
    /// takes no longer than all runs have taken so far, or than [`AGAIN_LEAST`]. Others may come and
    /// go; what is in peace is what counts.
    pub(crate) fn record_again(&self, study: &mut Study, runs: &mut Runs) -> Result<(), Failure> {
        let walls = runs.analyses.iter().map(|one| one.wall_ns).sum();
        let most = Duration::from_nanos(walls).max(AGAIN_LEAST);
        let begin = Instant::now();
        for _ in 0..AGAIN_MAX {
            for team in self.teams {
                if runs.failed.is_some() || runs.interrupted.is_some() {
                    return Ok(());
                }
                let last_ns = runs.of(*team).map(|one| one.wall_ns).min().unwrap_or(0);
                let in_peace = runs.of(*team).any(|one| one.taken().is_none());
                if in_peace || begin.elapsed() + Duration::from_nanos(last_ns) > most {
                    continue;
                }
                self.record_once_more(study, *team, ": other programs took its processors", runs)?;
            }
        }
        Ok(())
    }

    /// One run more, with the reason as what is shown meanwhile says it.
    fn record_once_more(
        &self,
        study: &mut Study,
        team: Team,
        why: &str,
        runs: &mut Runs,
    ) -> Result<(), Failure> {
        self.progress
            .doing(format!("running on {} again{why}", team.counted()));
        let name = Study::recording_again(team, runs.of(team).count());
        let ended = self.record_one(study, &name, team, false, runs)?;
        runs.interrupted = ended
            .interrupted
            .map(|signal| Signalled(signal).shell_code());
        Ok(())
    }

    /// One run with more threads than were measured. Nothing is said of one that fails: it
    /// was no run that the user asked for.
    pub(crate) fn rehearse(
        &self,
        study: &mut Study,
        threads: u32,
        runs: &mut Runs,
    ) -> Result<(), Failure> {
        let longest_ns = runs.analyses.iter().map(|one| one.wall_ns).max();
        let sound = runs.failed.is_none() && runs.interrupted.is_none() && runs.records > 0;
        let Some(longest_ns) = longest_ns.filter(|_| sound) else {
            return Ok(());
        };
        let name = Path::new("recordings/rehearsal");
        if self.take_over_rehearsal(study, name, threads, runs)? {
            return Ok(());
        }
        let directory = study.path(&name.to_string_lossy());
        let timeout = Duration::from_nanos(longest_ns) * REHEARSAL_PATIENCE + REHEARSAL_LEAST;
        let stderr = Stderr::File(directory.with_extension("stderr"));
        let recorded = recording::record(&Request {
            conditions: Conditions {
                timeout: Some(timeout),
                rehearsal: true,
                ..Conditions::default()
            },
            ..self.request(&directory, threads, false, (Stdout::Discard, stderr))
        })?;
        if let Some(signal) = recorded.ended.interrupted {
            runs.interrupted = Some(Signalled(signal).shell_code());
        }
        if recorded.ended.exit_code() == 0 {
            study.index.recordings.push(name.to_owned());
            study.save()?;
            runs.analyses
                .push(load::open(&directory, self.machine)?.analysis);
        }
        Ok(())
    }

    /// One of the study's runs, in the place of an earlier recording.
    pub(super) fn request<'a>(
        &'a self,
        directory: &'a Path,
        threads: u32,
        first: bool,
        (stdout, stderr): (Stdout, Stderr),
    ) -> Request<'a> {
        let subject = Subject {
            program: self.program,
            unpacked: self.unpacked,
            runtime: self.runtime,
        };
        let destination = Destination::replacing(directory, RECORDING_BYTES_MAX);
        let streams = Streams {
            stdin: self.stdin.for_run(first),
            stdout,
            stderr,
        };
        Request {
            teams: Teams::of(threads),
            conditions: Conditions {
                pace: Some(host::pace::THOROUGH),
                ..Conditions::default()
            },
            ..Request::new(subject, destination, streams)
        }
    }

    /// Looks where threads of the run `like` are, in a run of its own, if a cause may lie in
    /// libraries: computing that takes longer with more threads, or sleep. The exit code with
    /// it, if that was interrupted.
    pub(crate) fn look_where_threads_are(
        &self,
        study: &Study,
        runs: &Runs,
        like: &Analysis,
        diagnosis: &Diagnosis,
    ) -> Result<(Option<Samples>, Option<u8>), Failure> {
        let open = diagnosis.of_program().any(|cause| {
            let untold = match cause.kind {
                Kind::Blocked => cause.region.is_some(),
                kind => kind.is_untold(),
            };
            untold && cause.share() >= UNEXPLAINED_SHARE_MIN
        });
        let asked = !self.plan.no_sharing && !self.plan.quick;
        if !open || !asked || runs.interrupted.is_some() || runs.failed.is_some() {
            return Ok((None, None));
        }
        let threads = like.threads;
        let looked = whereabouts::look(&self.again(threads, Stdout::Discard), like, threads);
        let interrupted = looked
            .interrupted
            .map(|signal| Signalled(signal).shell_code());
        if let Some(samples) = &looked.samples {
            let text = serde_json::to_string_pretty(samples)? + "\n";
            output::write_file(&study.path(SAMPLES), text.as_bytes())?;
        }
        Ok((looked.samples, interrupted))
    }

    /// One run. What a recorder of its own, which runs the program on hosts, has to tell of the
    /// recording is in that.
    fn run(
        &self,
        team: Team,
        directory: &Path,
        first: bool,
        (stdout, stderr): (Stdout, Stderr),
    ) -> Result<(Ended, Option<Recorded>), Failure> {
        let (nodes, threads) = match team {
            Team::Here(threads) => {
                let request = self.request(directory, threads, first, (stdout, stderr));
                let recorded = recording::record(&request)?;
                return Ok((recorded.ended, Some(recorded)));
            }
            Team::Hosts { nodes, threads } => (nodes, threads),
        };
        let Some(across) = self.across else {
            return Err(Failure::new("there are no hosts to run on"));
        };
        let recorder = across.recorder(self.program, (nodes, threads), directory);
        let launch = Launch {
            program: &recorder,
            interposer: None,
            library: None,
            plan: fathomp_launch::Plan::default(),
            stdin: self.stdin.for_run(first),
            stdout,
            stderr,
        };
        let running = launch.start()?;
        let ended = running.wait(None)?;
        match load::has_regions(directory) {
            true => Ok((ended, None)),
            // Its words went to the terminal.
            false if first && ended.exit_code() == exit::LAUNCHER => {
                Err(Failure::said(exit::LAUNCHER))
            }
            false => Err(not_recorded(
                team,
                &ended,
                &directory.with_extension("stderr"),
            )),
        }
    }

    fn record_one(
        &self,
        study: &mut Study,
        name: &Path,
        team: Team,
        first: bool,
        runs: &mut Runs,
    ) -> Result<Ended, Failure> {
        let begin = Instant::now();
        let directory = study.path(&name.to_string_lossy());
        let complaints = directory.with_extension("stderr");
        let shown = match (first, self.console.quiet) {
            (true, false) => Stdout::for_voice(self.console),
            _ => Stdout::Discard,
        };
        let capture = shown.captured();
        let stderr = match first {
            true => Stderr::Inherit,
            false => Stderr::File(complaints.clone()),
        };
        let stdout = Stdout::Capture(capture.clone());
        let run = || self.run(team, &directory, first, (stdout, stderr));
        let (ended, recorded) = match first {
            // The program has the terminal to itself.
            true => self.progress.aside(run)?,
            false => run()?,
        };
        let code = ended.exit_code();
        let silent = fs::metadata(&complaints).is_ok_and(|found| found.len() == 0);
        if silent {
            // Best effort: an empty file does no harm.
            let _ = fs::remove_file(&complaints);
        }
        if code != 0 && ended.interrupted.is_none() {
            let said = if first || silent {
                String::new()
            } else {
                format!("; what it said is in {}", complaints.display())
            };
            study.index.notes.push(format!(
                "The run with {} ended with {}{said}.",
                team.counted(),
                ended.describe()
            ));
        }
        if code != 0 {
            runs.failed.get_or_insert(code);
        }
        // A run on hosts that has no records is an error before this.
        runs.records += recorded.as_ref().map_or(1, |recorded| recorded.records);
        let problems = recorded.map(|recorded| recorded.problems);
        for problem in problems.unwrap_or_default() {
            // Of which run that is said, where there are several.
            let problem = match problem.strip_prefix(NOTHING) {
                Some(why) if self.teams.len() > 1 => {
                    format!("{NOTHING} with {}{why}", team.counted())
                }
                _ => problem,
            };
            // Runs differ in numbers; once is enough here, the report has all.
            let kind = |sentence: &str| sentence.replace(|c: char| c.is_ascii_digit(), "");
            if !runs
                .problems
                .iter()
                .any(|known| kind(known) == kind(&problem))
            {
                runs.problems.push(problem);
            }
        }
        study.index.recordings.push(name.to_owned());
        study.save()?;
        let printed = capture.take();
        writer::amend(&directory, |meta| {
            meta.output = Some(Output {
                bytes: printed.bytes,
                hash: printed.hash,
                differs: None,
            });
        })?;
        runs.printed.push((team.threads(), printed));
        runs.analyses
            .push(load::open(&directory, self.machine)?.analysis);
        runs.elapsed += begin.elapsed();
        Ok(ended)
    }

    /// Finds out whether the program wrote the same with every number of threads.
    /// Runs that died have said so; what they wrote is not compared.
    pub(crate) fn compare_outputs(&self, study: &Study, runs: &mut Runs) -> Result<(), Failure> {
        if runs.failed.is_some() || runs.interrupted.is_some() {
            return Ok(());
        }
        let outputs: Vec<compare::Run<'_>> = runs
            .printed
            .iter()
            .map(|(threads, printed)| compare::Run {
                threads: *threads,
                printed,
            })
            .collect();
        let mut found = compare::differences(&outputs, &[]);
        if found.iter().all(Option::is_none) {
            return Ok(());
        }
        // What differs between two runs that are alike is not for the number of
        // threads; most studies have only one of each.
        if let Some(again) = self.once_more(outputs.iter().map(|run| run.threads).min()) {
            found = compare::differences(&outputs, &[&again]);
            if found.iter().all(Option::is_none) {
                return Ok(());
            }
        }
        // All of them are kept, to be looked at side by side.
        let recordings = study.index.recordings.iter();
        for (((difference, recording), analysis), (_, printed)) in found
            .into_iter()
            .zip(recordings)
            .zip(&mut runs.analyses)
            .zip(&runs.printed)
        {
            let directory = study.path(&recording.to_string_lossy());
            output::write_file(&directory.with_extension("stdout"), &printed.text)?;
            if difference.is_none() {
                continue;
            }
            if let Some(output) = &mut analysis.program.output {
                output.differs.clone_from(&difference);
            }
            writer::amend(&directory, |meta| {
                if let Some(output) = &mut meta.output {
                    output.differs = difference;
                }
            })?;
        }
        Ok(())
    }

    /// What the program writes in one more run, which is not recorded; nothing
    /// if that does not end well.
    fn once_more(&self, threads: Option<u32>) -> Option<Printed> {
        let capture = Stdout::Discard.captured();
        let launch = self.again(threads?, Stdout::Capture(capture.clone()));
        let ended = launch.start().and_then(|running| running.wait(None)).ok()?;
        (ended.exit_code() == 0).then(|| capture.take())
    }

    /// One more run, which is not recorded.
    fn again(&self, threads: u32, stdout: Stdout) -> Launch<'_> {
        let mut plan = launch::plan(Some(ThreadCount(threads)), None);
        if let Some(runtime) = self.runtime {
            runtime.tell(&mut plan);
        }
        Launch {
            program: self.program,
            interposer: None,
            library: self
                .runtime
                .is_none()
                .then(|| launch::library(self.unpacked, None)),
            plan,
            stdin: self.stdin.for_run(false),
            stdout,
            stderr: Stderr::Discard,
        }
    }
}

/// Why there is no recording of a run on hosts: the last that was said.
fn not_recorded(team: Team, ended: &Ended, complaints: &Path) -> Failure {
    let said = fs::read_to_string(complaints).unwrap_or_default();
    let why = match said.lines().next_back() {
        Some(line) => line.trim_start_matches("fathomp: ").to_owned(),
        None => format!("it ended with {}", ended.describe()),
    };
    let failure = Failure::new(format!(
        "nothing was recorded of the run on {}: {why}",
        team.counted()
    ));
    match ended.interrupted {
        Some(signal) => failure.with_code(Signalled(signal).shell_code()),
        None => failure,
    }
}

/// How many threads to rehearse with: as many as are predicted for, if that is more than
/// are measured.
pub(crate) fn rehearsal_threads(plan: &Plan, measured: &[Team]) -> Option<u32> {
    let predicted = match &plan.cores {
        Some(ThreadCount(cores)) => *cores,
        None => fathomp_predict::horizon(host::usable_cpus()),
    };
    let threads = predicted.min(REHEARSAL_THREADS_MAX);
    let most = measured.iter().map(|team| team.threads());
    let most = most.max().unwrap_or(1);
    (!plan.no_rehearsal && !plan.quick && threads > most).then_some(threads)
}
