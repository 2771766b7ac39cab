//! What a study leaves behind: the page, the numbers for other tools, and what is said.

use crate::args::Study as Plan;
use crate::console::Console;
use crate::failure::{Failure, Outcome, exit};
use crate::output;
use crate::program::Program;
use crate::study::Study;
use crate::study::job::Runs;
use fathomp_diagnosis::{Cause, Verdict};
use fathomp_predict::Prediction;
use fathomp_report::Input;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

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

/// Writes the page, and the numbers in it.
pub(super) fn write(
    plan: &Plan,
    study: &Study,
    input: &Input<'_>,
    verdict: &Verdict,
) -> Result<(), Failure> {
    let page = fathomp_report::page(input, verdict)?;
    output::write_file(&plan.output, page.as_bytes())?;
    output::stream_file(&study.path("result.json"), |out| {
        fathomp_report::export::json(input, verdict, out).map_err(|error| Failure::of(&error))
    })
}

/// The program and its arguments, as the study shows them.
pub(super) fn words(program: &Program) -> Vec<String> {
    let words = program.command.iter();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Says what came of it. The command's exit code.
pub(super) fn tell(
    plan: &Plan,
    study: &Study,
    runs: &Runs,
    input: &Input<'_>,
    verdict: &Verdict,
    console: Console,
) -> Outcome {
    let prediction = input.prediction;
    let broken = &verdict.soundness.broken;
    for sentence in broken
        .iter()
        .chain(&study.index.notes)
        .chain(&runs.problems)
    {
        console.warn(sentence);
    }
    if let Some(prediction) = prediction {
        for sentence in prediction.sentences.iter().take(FINDINGS_SHOWN) {
            console.say(sentence);
        }
    } else if broken.is_none()
        && let Some(sentence) = fathomp_predict::measured(&runs.analyses)
    {
        console.say(sentence);
    }
    let diagnosis = &verdict.diagnosis;
    // What costs most comes first, also where it is the machine.
    let first = diagnosis.of_program().next();
    for cause in diagnosis.circumstance().into_iter().chain(first) {
        console.say(cause.sentence());
    }
    let report = fs::canonicalize(&plan.output).unwrap_or_else(|_| plan.output.clone());
    console.say(format!("the report is {}", report.display()));
    let nothing_studied = (runs.records == 0).then_some(exit::FAILED);
    let exit_code = runs
        .failed
        .or(runs.interrupted)
        .or(nothing_studied)
        .unwrap_or(0);
    if console.json {
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
        console.result("fathomp.study", &answer, String::new)?;
    }
    Ok(exit_code)
}
