//! `fathomp study`: calibrate, record at several thread counts, predict,
//! report.

use crate::args::{Cluster, LIMIT_S, Study as Plan, ThreadCount, ThreadList, nodes_for};
use crate::evidence::Target;
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{Ended, Repeatable, Stderr, Stdin, Stdout, exit_code};
use crate::program::{self, Program};
use crate::progress::Progress;
use crate::recording::{self, Request};
use crate::sharing;
use crate::study::{SHARING, Study};
use crate::voice::Voice;
use crate::{calibrate, evidence, host, output};
use fathomp_analyse::Analysis;
use fathomp_predict::Prediction;
use fathomp_predict::machine::Machine;
use fathomp_report::Input;
use fathomp_runtime::Unpacked;
use fathomp_sharing::Findings;
use fathomp_trace::model::Outcome::Signalled;
use fathomp_trace::writer::Existing;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes each recording may take; several are read for one report.
const RECORDING_BYTES_MAX: u64 = 64 << 20;
/// Findings repeated on the terminal; the report has them all.
const FINDINGS_SHOWN: usize = 5;

#[derive(Serialize)]
struct Answer<'a> {
    report: &'a Path,
    directory: &'a Path,
    recordings: &'a [PathBuf],
    exit_code: u8,
    notes: &'a [String],
    prediction: Option<&'a Prediction>,
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
}

/// How the runs went, taken together.
#[derive(Default)]
struct Runs {
    analyses: Vec<Analysis>,
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
    let looks = usize::from(plan.sharing);
    let progress = Progress::start(voice, runs + looks + 2);
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
    };
    let runs_made = job.record_all(&mut study)?;

    let sharing = match plan.sharing && runs_made.interrupted.is_none() {
        true => {
            progress.at(runs + 1, "looking for cache lines that threads share");
            job.look_for_sharing(&mut study, machine.as_ref())?
        }
        false => None,
    };

    progress.at(runs + looks + 1, "predicting and writing the report");
    let target = Target {
        machine: machine.clone(),
        cores: plan.cores,
    };
    let prediction = evidence::predict_or_note(&runs_made.analyses, target, &mut study.index.notes);
    study.save()?;
    let input = Input {
        analyses: &runs_made.analyses,
        prediction: prediction.as_ref(),
        nodes: None,
        sharing: sharing.as_ref(),
        notes: &study.index.notes,
    };
    write(plan, &study, &input)?;
    progress.finish();
    tell(plan, &study, &runs_made, prediction.as_ref(), voice)
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

    /// Runs the program once more, on nodes, and looks which cache lines they share. What
    /// goes wrong is a note, and the study goes on.
    fn look_for_sharing(
        &self,
        study: &mut Study,
        machine: Option<&Machine>,
    ) -> Result<Option<Findings>, Failure> {
        let most = self.threads.0.iter().max().copied().unwrap_or(2);
        let looked = sharing::look(&sharing::Request {
            program: self.program,
            unpacked: self.unpacked,
            nodes: nodes_for(ThreadCount(most)),
            limit_s: LIMIT_S,
            machine,
            stdin: self.stdin.for_run(false),
            stdout: Stdout::Discard,
            stderr: Stderr::File(study.path("sharing.stderr")),
        });
        let findings = match looked {
            Ok(looked) => looked.findings,
            Err(failure) => {
                study.index.notes.push(format!(
                    "Which cache lines threads share is not known: {}.",
                    failure.sentence
                ));
                return Ok(None);
            }
        };
        let text = serde_json::to_string_pretty(&findings)? + "\n";
        output::write_file(&study.path(SHARING), text.as_bytes())?;
        Ok(Some(findings))
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
        let request = Request {
            cluster: Cluster::ONE,
            program: self.program,
            unpacked: self.unpacked,
            directory: &directory,
            existing: Existing::Replace,
            threads: Some(ThreadCount(threads)),
            accesses: false,
            limit_bytes: RECORDING_BYTES_MAX,
            stdin: self.stdin.for_run(first),
            stdout: match (first, self.voice.quiet) {
                (true, false) => Stdout::for_voice(self.voice),
                _ => Stdout::Discard,
            },
            stderr: if first {
                Stderr::Inherit
            } else {
                Stderr::File(complaints.clone())
            },
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
        runs.analyses.push(evidence::open(&directory)?.analysis);
        Ok(ended)
    }
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

fn tell(
    plan: &Plan,
    study: &Study,
    runs: &Runs,
    prediction: Option<&Prediction>,
    voice: Voice,
) -> Outcome {
    for sentence in study.index.notes.iter().chain(&runs.problems) {
        voice.warn(sentence);
    }
    if let Some(prediction) = prediction {
        for sentence in prediction.sentences.iter().take(FINDINGS_SHOWN) {
            voice.say(sentence);
        }
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
            prediction,
        };
        voice.result("fathomp.study", &answer, String::new)?;
    }
    Ok(exit_code)
}
