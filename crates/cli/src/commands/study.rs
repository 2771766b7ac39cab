//! `fathomp study`: calibrate, record at several thread counts, predict,
//! report.

use crate::args::{Cluster, Study as Plan, ThreadCount, ThreadList};
use crate::evidence::Target;
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{
    self, Capture, Ended, Launch, Printed, Repeatable, Stderr, Stdin, Stdout, exit_code,
};
use crate::program::{self, Program};
use crate::progress::Progress;
use crate::recording::{self, Request};
use crate::study::{Study, compare};
use crate::voice::Voice;
use crate::{calibrate, evidence, host, output, sources};
use fathomp_analyse::Analysis;
use fathomp_diagnose::Cause;
use fathomp_predict::Prediction;
use fathomp_predict::machine::Machine;
use fathomp_report::Input;
use fathomp_runtime::Unpacked;
use fathomp_trace::model::Outcome::Signalled;
use fathomp_trace::model::Output;
use fathomp_trace::writer::{self, Existing};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes each recording may take; several are read for one report.
const RECORDING_BYTES_MAX: u64 = 64 << 20;
/// More threads than this tell little more about how work divides.
const REHEARSAL_THREADS_MAX: u32 = 64;
/// Many threads on few processors may take longer than any measured run: so many times
/// as long is allowed, and this much on top.
const REHEARSAL_PATIENCE: u32 = 4;
const REHEARSAL_LEAST: Duration = Duration::from_secs(10);
/// Findings repeated on the terminal; the report has them all.
const FINDINGS_SHOWN: usize = 5;

#[derive(Serialize)]
struct Answer<'a> {
    report: &'a Path,
    directory: &'a Path,
    recordings: &'a [PathBuf],
    exit_code: u8,
    notes: &'a [String],
    /// Why nothing is concluded, if so.
    broken: Option<&'a str>,
    prediction: Option<&'a Prediction>,
    /// Why the program does not run faster, the most expensive first.
    causes: &'a [Cause],
}

/// What all runs of a study share.
struct Job<'a> {
    plan: &'a Plan,
    voice: Voice,
    program: &'a Program,
    unpacked: &'a Unpacked,
    threads: &'a ThreadList,
    progress: &'a Progress,
    stdin: Repeatable,
    machine: Option<&'a Machine>,
}

/// How the runs went, taken together.
#[derive(Default)]
struct Runs {
    analyses: Vec<Analysis>,
    /// What the runs wrote, as many as there are analyses.
    printed: Vec<(u32, Printed)>,
    /// Exit code of the first run that failed.
    failed: Option<u8>,
    /// Ctrl-C or the like: no more runs, and this exit code.
    interrupted: Option<u8>,
    records: u64,
    /// What was noticed in any run, each once.
    problems: Vec<String>,
}

pub(super) fn study(plan: &Plan, voice: Voice) -> Outcome {
    let program = program::examine(&plan.program.command)?;
    carry_out(plan, &program, voice).map_err(|failure| failure.with_code(exit::LAUNCHER))
}

fn carry_out(plan: &Plan, program: &Program, voice: Voice) -> Outcome {
    output::check_file(&plan.output, plan.force)?;
    Study::check(&plan.directory, plan.force)?;
    let unpacked = fathomp_runtime::unpack()?;
    let threads = plan
        .threads
        .clone()
        .unwrap_or_else(|| ThreadList::doubling(host::usable_cpus()));
    let command = program
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    let mut study = Study::create(&plan.directory, command.collect())?;

    // Steps: calibrating, the runs, predicting and reporting.
    let runs = threads.0.len() * plan.repeat as usize;
    let rehearsal = rehearsal_threads(plan, &threads);
    let progress = Progress::start(voice, runs + 2 + usize::from(rehearsal.is_some()));
    progress.at(0, "measuring this machine");
    let machine = measure(&mut study, &unpacked, &threads)?;

    let job = Job {
        plan,
        voice,
        program,
        unpacked: &unpacked,
        threads: &threads,
        progress: &progress,
        stdin: Stdin::for_several_runs(study.path("stdin")),
        machine: machine.as_ref(),
    };
    let mut runs_made = job.record_all(&mut study)?;
    job.compare_outputs(&study, &mut runs_made)?;
    if let Some(threads) = rehearsal {
        progress.at(runs + 1, format!("rehearsing with {}", counted(threads)));
        job.rehearse(&mut study, threads, &mut runs_made)?;
    }

    progress.at(
        runs + 1 + usize::from(rehearsal.is_some()),
        "predicting and writing the report",
    );
    let target = Target {
        machine,
        cores: plan.cores,
    };
    let prediction =
        evidence::predict_or_note(&runs_made.analyses, &target, &mut study.index.notes);
    study.save()?;
    let sources = sources::read(&runs_made.analyses);
    let input = Input {
        sources: Some(&sources),
        analyses: &runs_made.analyses,
        prediction: prediction.as_ref(),
        notes: &study.index.notes,
        machine: target.machine.as_ref(),
        ..Input::default()
    };
    write(plan, &study, &input)?;
    progress.finish();
    tell(plan, &study, &runs_made, &input, voice)
}

/// What this machine costs. Without that, predictions are less certain, but
/// the study goes on.
fn measure(
    study: &mut Study,
    unpacked: &Unpacked,
    threads: &ThreadList,
) -> Result<Option<Machine>, Failure> {
    let usable = ThreadList::doubling(host::usable_cpus());
    // Prices beyond the processors are those of oversubscription, which the
    // model knows as a term of its own.
    let within: Vec<u32> = threads
        .0
        .iter()
        .copied()
        .filter(|t| usable.0.last() >= Some(t))
        .collect();
    let at = if within.is_empty() { usable.0 } else { within };
    match calibrate::machine(unpacked, &at, false, |_| {}) {
        Ok(calibrated) => {
            let text = calibrated.machine.to_json()? + "\n";
            output::write_file(&study.path("machine.json"), text.as_bytes())?;
            study.index.notes.extend(calibrated.doubt);
            Ok(Some(calibrated.machine))
        }
        Err(error) => {
            let why = Failure::from(error).sentence;
            study
                .index
                .notes
                .push(format!("This machine was not measured: {why}."));
            Ok(None)
        }
    }
}

impl Job<'_> {
    /// All runs: every number of threads before the first repetition, so that
    /// a slow drift of the machine spreads over all of them.
    fn record_all(&self, study: &mut Study) -> Result<Runs, Failure> {
        let mut runs = Runs::default();
        let mut done = 0;
        for repeat in 0..self.plan.repeat {
            for threads in &self.threads.0 {
                done += 1;
                self.progress
                    .at(done, format!("running on {}", counted(*threads)));
                let name = Study::recording(*threads, repeat, self.plan.repeat);
                let ended = self.record_one(study, &name, *threads, done == 1, &mut runs)?;
                if let Some(signal) = ended.interrupted {
                    study.index.notes.push(format!(
                        "The study was interrupted by signal {signal} after {done} of {} runs.",
                        self.threads.0.len() * self.plan.repeat as usize
                    ));
                    runs.interrupted = Some(exit_code(Signalled(signal)));
                    return Ok(runs);
                }
            }
        }
        Ok(runs)
    }

    /// One run with more threads than were measured. Nothing is said of one that fails: it
    /// was no run that the user asked for.
    fn rehearse(&self, study: &mut Study, threads: u32, runs: &mut Runs) -> Result<(), Failure> {
        let longest_ns = runs.analyses.iter().map(|one| one.wall_ns).max();
        let sound = runs.failed.is_none() && runs.interrupted.is_none() && runs.records > 0;
        let Some(longest_ns) = longest_ns.filter(|_| sound) else {
            return Ok(());
        };
        let name = Path::new("recordings/rehearsal");
        let directory = study.path(&name.to_string_lossy());
        let recorded = recording::record(&Request {
            rehearsal: true,
            limit: Some(Duration::from_nanos(longest_ns) * REHEARSAL_PATIENCE + REHEARSAL_LEAST),
            stdout: Stdout::Discard,
            stderr: Stderr::File(directory.with_extension("stderr")),
            ..self.request(&directory, threads, false)
        })?;
        if let Some(signal) = recorded.ended.interrupted {
            runs.interrupted = Some(exit_code(Signalled(signal)));
        }
        if recorded.ended.exit_code() == 0 {
            study.index.recordings.push(name.to_owned());
            study.save()?;
            runs.analyses
                .push(evidence::open(&directory, self.machine)?.analysis);
        }
        Ok(())
    }

    fn request<'a>(&'a self, directory: &'a Path, threads: u32, first: bool) -> Request<'a> {
        Request {
            cluster: Cluster::ONE,
            program: self.program,
            unpacked: self.unpacked,
            directory,
            existing: Existing::Replace,
            threads: Some(ThreadCount(threads)),
            accesses: false,
            limit_bytes: RECORDING_BYTES_MAX,
            limit: None,
            rehearsal: false,
            stdin: self.stdin.for_run(first),
            stdout: Stdout::Discard,
            stderr: Stderr::Inherit,
        }
    }

    fn record_one(
        &self,
        study: &mut Study,
        name: &Path,
        threads: u32,
        first: bool,
        runs: &mut Runs,
    ) -> Result<Ended, Failure> {
        let directory = study.path(&name.to_string_lossy());
        let complaints = directory.with_extension("stderr");
        let shown = match (first, self.voice.quiet) {
            (true, false) => Stdout::for_voice(self.voice),
            _ => Stdout::Discard,
        };
        let capture = Capture::of(&shown);
        let request = Request {
            stdout: Stdout::Capture(capture.clone()),
            stderr: if first {
                Stderr::Inherit
            } else {
                Stderr::File(complaints.clone())
            },
            ..self.request(&directory, threads, first)
        };
        let recorded = if first {
            // The program has the terminal to itself.
            self.progress.aside(|| recording::record(&request))?
        } else {
            recording::record(&request)?
        };
        let ended = recorded.ended;
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
                counted(threads),
                ended.describe()
            ));
        }
        if code != 0 {
            runs.failed.get_or_insert(code);
        }
        runs.records += recorded.records;
        for problem in recorded.problems {
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
        runs.printed.push((threads, printed));
        runs.analyses
            .push(evidence::open(&directory, self.machine)?.analysis);
        Ok(ended)
    }

    /// Finds out whether the program wrote the same with every number of threads.
    /// Runs that died have said so; what they wrote is not compared.
    fn compare_outputs(&self, study: &Study, runs: &mut Runs) -> Result<(), Failure> {
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
        let capture = Capture::of(&Stdout::Discard);
        let launch = Launch {
            program: self.program,
            library: Some(launch::library(self.unpacked, Cluster::ONE)),
            variables: launch::variables(threads.map(ThreadCount), Cluster::ONE),
            stdin: self.stdin.for_run(false),
            stdout: Stdout::Capture(capture.clone()),
            stderr: Stderr::Discard,
        };
        let ended = launch.start().and_then(|running| running.wait(None)).ok()?;
        (ended.exit_code() == 0).then(|| capture.take())
    }
}

/// How many threads to rehearse with: as many as are predicted for, if that is more than
/// are measured.
fn rehearsal_threads(plan: &Plan, measured: &ThreadList) -> Option<u32> {
    let predicted = match &plan.cores {
        Some(ThreadCount(cores)) => *cores,
        None => fathomp_predict::horizon(host::usable_cpus()),
    };
    let threads = predicted.min(REHEARSAL_THREADS_MAX);
    let most = measured.0.iter().max().copied().unwrap_or(1);
    (!plan.no_rehearsal && threads > most).then_some(threads)
}

/// "1 thread", "2 threads".
fn counted(threads: u32) -> String {
    match threads {
        1 => "1 thread".to_owned(),
        many => format!("{many} threads"),
    }
}

fn write(plan: &Plan, study: &Study, input: &Input<'_>) -> Result<(), Failure> {
    let page = fathomp_report::page(input).map_err(|error| Failure::of(&error))?;
    output::write_file(&plan.output, page.as_bytes())?;
    output::stream_file(&study.path("result.json"), |out| {
        fathomp_report::export::json(input, out).map_err(|error| Failure::of(&error))
    })
}

fn tell(plan: &Plan, study: &Study, runs: &Runs, input: &Input<'_>, voice: Voice) -> Outcome {
    let prediction = input.prediction;
    let broken = fathomp_report::broken(&runs.analyses);
    for sentence in broken
        .iter()
        .chain(&study.index.notes)
        .chain(&runs.problems)
    {
        voice.warn(sentence);
    }
    if let Some(prediction) = prediction {
        for sentence in prediction.sentences.iter().take(FINDINGS_SHOWN) {
            voice.say(sentence);
        }
    }
    let diagnosis = input.diagnose();
    if let Some(first) = diagnosis.of_program().next() {
        voice.say(first.sentence());
    }
    let report = fs::canonicalize(&plan.output).unwrap_or_else(|_| plan.output.clone());
    voice.say(format!("the report is {}", report.display()));
    let nothing_studied = (runs.records == 0).then_some(exit::FAILED);
    let exit_code = runs
        .failed
        .or(runs.interrupted)
        .or(nothing_studied)
        .unwrap_or(0);
    if voice.json {
        let answer = Answer {
            report: &report,
            directory: &plan.directory,
            recordings: &study.index.recordings,
            exit_code,
            notes: &study.index.notes,
            broken: broken.as_deref(),
            prediction,
            causes: &diagnosis.causes,
        };
        voice.result("fathomp.study", &answer, String::new)?;
    }
    Ok(exit_code)
}
