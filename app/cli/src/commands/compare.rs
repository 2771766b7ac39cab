//! `fathomp compare`: a program before and after a change.

use crate::args::Compare;
use crate::console::Console;
use crate::failure::{Failure, Outcome, exit};
use crate::load::{self, Target};
use crate::progress::slowly;
use crate::recording::rank;
use crate::{output, study};
use fathomp_analysis::Analysis;
use fathomp_bench::read::is_result;
use fathomp_bench::summary::between::{self, Between};
use fathomp_diagnosis::{Soundness, Verdict};
use fathomp_predict::Outcome as Predicted;
use fathomp_report::compare::{self, Comparison, Concluded, RanksRun, Setting, Side};
use fathomp_report::{Input, text};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The code with which the command leaves if something became slower by more than was allowed.
const SLOWER: u8 = 3;

pub(super) fn compare(plan: &Compare, console: Console) -> Outcome {
    if let Some(page) = &plan.output {
        output::check_file(page, plan.force)?;
    }
    twice(&plan.inputs)?;
    let results: Vec<PathBuf> = plan
        .inputs
        .iter()
        .filter(|one| is_result(one))
        .cloned()
        .collect();
    if results.len() == plan.inputs.len() {
        return of_bench(plan, console);
    }
    if !results.is_empty() {
        // Other files of fathomp are no results either, which is the first thing to say.
        fathomp_bench::read::read(&results)?;
        return Err(usage(
            "results of `fathomp bench` and recordings cannot be compared with each other: give one kind at a time",
        ));
    }
    let comparison = slowly(console, "reading recordings", || {
        of_recordings(&plan.inputs)
    })?;
    if let Some(page) = &plan.output {
        output::write_file(
            page,
            fathomp_report::comparison_page(&comparison)?.as_bytes(),
        )?;
        console.say(format!("wrote {}", page.display()));
    }
    console.result("fathomp.compare", &comparison, || {
        text::comparison(&comparison, console.width())
    })?;
    let Some(limit) = plan.fail_above else {
        return Ok(0);
    };
    verdict(comparison.can_tell(), &comparison.slower_by(limit), console)
}

fn usage(sentence: impl Into<String>) -> Failure {
    Failure::new(sentence).with_code(exit::USAGE)
}

/// Refuses what would be compared with itself.
fn twice(inputs: &[PathBuf]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for input in inputs {
        let path = std::fs::canonicalize(input).unwrap_or_else(|_| input.clone());
        if !seen.insert(path) {
            return Err(usage(format!(
                "{} is given twice: name what was recorded before and after a change",
                input.display()
            )));
        }
    }
    Ok(())
}

/// What `--fail-above` makes of it.
fn verdict(can_tell: bool, slower: &[String], console: Console) -> Outcome {
    if !can_tell {
        return Err(Failure::new(
            "--fail-above cannot be judged by single runs, nor by runs that failed: compare several, as `fathomp study --repeat 5` makes them",
        ));
    }
    for clause in slower {
        console.tell(format!("slower than allowed: {clause}"));
    }
    Ok(if slower.is_empty() { 0 } else { SLOWER })
}

/// A side, and what it takes to conclude what its report would.
struct Read {
    side: Side,
    parts: study::Parts,
}

fn of_recordings(inputs: &[PathBuf]) -> Result<Comparison, Failure> {
    let mut sides = Vec::new();
    let mut parts = Vec::new();
    for input in inputs {
        let read = read(input)?;
        sides.push(read.side);
        parts.push(read.parts);
    }
    let compared = compare::compared(&sides);
    let concluded: Vec<Concluded> = compared.iter().zip(&parts).map(conclude).collect();
    compare::compare(&sides, &concluded).map_err(|error| Failure::of(&error))
}

fn read(input: &Path) -> Result<Read, Failure> {
    let parts = study::Parts::of(input)?;
    let name = input.display().to_string();
    let mut side = Side {
        name: name.trim_end_matches('/').to_owned(),
        sharing: parts.sharing.is_some(),
        samples: parts.samples.is_some(),
        input: piped(&input.join("stdin")),
        ..Side::default()
    };
    let recordings = match rank::all_of(input) {
        Some(_) => vec![input.to_owned()],
        None => study::recordings_in(input)?,
    };
    if recordings.is_empty() {
        return Err(Failure::new(format!(
            "{} is a study without any recording: study the program again",
            input.display()
        )));
    }
    for recording in recordings {
        if let Some(ranks) = load::ranks(&recording)? {
            let rows = &ranks.together.ranks;
            let threads = rows.iter().map(|row| row.threads).max();
            side.ranks.push(RanksRun {
                setting: Setting {
                    threads: threads.unwrap_or(1),
                    nodes: 1,
                    ranks: u32::try_from(rows.len() + ranks.together.missing.len()).unwrap_or(0),
                },
                wall_ns: ranks.together.wall_ns,
            });
            continue;
        }
        let evidence = load::open(&recording, parts.machine.as_ref())?;
        if evidence.recording.processes.is_empty() {
            return Err(Failure::new(format!(
                "{} holds nothing of a program that used OpenMP, so that there is nothing to compare: record the program again",
                recording.display()
            )));
        }
        let scanned = evidence.recording.regions.map(|regions| regions.modules);
        for module in scanned.into_iter().flatten() {
            if !side.modules.iter().any(|known| known.path == module.path) {
                side.modules.push(module);
            }
        }
        side.analyses.push(evidence.analysis);
    }
    Ok(Read { side, parts })
}

/// What the program was given to read; programs that read nothing have no such file.
fn piped(path: &Path) -> Option<u64> {
    let bytes = std::fs::read(path).ok()?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Some(hasher.finish())
}

/// What the report on these recordings would say, and a report on each run.
fn conclude((analyses, parts): (&Vec<Analysis>, &study::Parts)) -> Concluded {
    let verdict = verdict_on(analyses, parts);
    let none = || {
        let why =
            "no causes are looked for in runs of several ranks: each rank has a report of its own.";
        analyses.is_empty().then(|| why.to_owned())
    };
    let input = Input {
        analyses,
        ..Input::default()
    };
    let shown = input.main().map(Setting::of);
    let run_by_run = shown.map(|setting| compare::run_by_run(analyses, setting));
    let alone = run_by_run
        .iter()
        .flatten()
        .map(|one| verdict_on(one, parts).diagnosis.causes);
    Concluded {
        causes: verdict.diagnosis.causes,
        run_by_run: alone.collect(),
        broken: verdict.soundness.broken.or_else(none),
    }
}

fn verdict_on(analyses: &[Analysis], parts: &study::Parts) -> Verdict {
    let target = Target {
        machine: parts.machine.clone(),
        cores: None,
    };
    let soundness = Soundness::of(analyses);
    let prediction = load::predict_or_note(analyses, &soundness, &target, &mut Vec::new());
    let input = Input {
        analyses,
        prediction: prediction.as_ref().and_then(Predicted::threads),
        machine: parts.machine.as_ref(),
        sharing: parts.sharing.as_ref(),
        samples: parts.samples.as_ref(),
        ..Input::default()
    };
    input.conclude(soundness)
}

/// Results of `fathomp bench`, row by row.
fn of_bench(plan: &Compare, console: Console) -> Outcome {
    if plan.output.is_some() {
        return Err(usage(
            "-o makes a page about recordings; for results of `fathomp bench` use `fathomp report`, which shows them side by side",
        ));
    }
    let mut sides = Vec::new();
    for input in &plan.inputs {
        let joined = fathomp_bench::read::read(std::slice::from_ref(input))?;
        if joined.documents.is_empty() {
            return Err(usage(format!(
                "{} is output of EPCC's own programs, which has no samples to compare: measure with `fathomp bench epcc -o FILE`",
                input.display()
            )));
        }
        sides.push((input.display().to_string(), joined.documents));
    }
    let between = Between::of(&sides)?;
    for doubt in &between.doubts {
        console.warn(doubt);
    }
    console.result("fathomp.compare.bench", &between, || {
        between::text(&between, console.width())
    })?;
    let Some(limit) = plan.fail_above else {
        return Ok(0);
    };
    verdict(between.can_tell(), &between.slower_by(limit), console)
}
