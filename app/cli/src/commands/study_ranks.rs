//! `fathomp study --ranks`: run a program of MPI with some numbers of ranks and threads, predict
//! others, and tell the best split.

use super::study_end::words;
use crate::args::{Study as Plan, ThreadList};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::launch::Stdin;
use crate::program::Program;
use crate::progress::Progress;
use crate::study::Study;
use crate::study::ranks::{Grid, Measured, OfThreads, RankRuns, Template};
use crate::{host, output, sources};
use fathomp_diagnosis::Soundness;
use fathomp_predict::ranks::{Split, splits};
use fathomp_report::Input;
use fathomp_report::text::splits as shown;
use serde::Serialize;
use std::fs;
use std::path::Path;

#[derive(Serialize)]
struct Answer<'a> {
    report: &'a Path,
    directory: &'a Path,
    notes: &'a [String],
    splits: &'a [Split],
}

pub(super) fn over_ranks(
    plan: &Plan,
    ranks: &ThreadList,
    program: &Program,
    console: Console,
) -> Outcome {
    let template = Template::of(program)?;
    output::check_file(&plan.output, plan.force)?;
    Study::check(&plan.directory, plan.force)?;
    let processors = host::usable_cpus();
    let grid = Grid::of(plan, ranks, processors)?;
    let mut study = Study::create(&plan.directory, words(program))?;
    let repeats = plan.repeat.unwrap_or(1);
    let progress = Progress::start(console, grid.measured.len() * repeats as usize + 2);
    let runs = RankRuns {
        template: &template,
        console,
        progress: &progress,
        stdin: Stdin::for_several_runs(study.path("stdin")),
    };
    let mut measured = runs.all(&study, &grid.measured, repeats)?;
    progress.at(grid.measured.len() + 1, "predicting");
    let model = OfThreads::new(&measured.longest, &grid.wanted);
    let all = splits(&measured.cells, &model, &grid.wanted);
    study.index.notes = std::mem::take(&mut measured.notes);
    write(plan, &mut study, &measured, &all)?;
    progress.finish();
    for note in &study.index.notes {
        console.warn(note);
    }
    let cores = plan.cores.map_or(processors, |cores| cores.0);
    for line in shown::lines(&all, console.width())
        .iter()
        .chain(&shown::sentences(&all, processors, cores))
    {
        console.say(line);
    }
    let report = fs::canonicalize(&plan.output).unwrap_or_else(|_| plan.output.clone());
    console.say(format!("the report is {}", report.display()));
    if console.json {
        let answer = Answer {
            report: &report,
            directory: &plan.directory,
            notes: &study.index.notes,
            splits: &all,
        };
        console.result("fathomp.splits", &answer, String::new)?;
    }
    Ok(measured.failed.unwrap_or(0))
}

/// The page: of all ranks of the fastest run, and of its longest rank with all numbers of threads.
fn write(
    plan: &Plan,
    study: &mut Study,
    measured: &Measured,
    all: &[Split],
) -> Result<(), Failure> {
    let time = |one: &&Split| one.measured_ns.unwrap_or(f64::MAX);
    let fastest = all.iter().min_by(|a, b| time(a).total_cmp(&time(b)));
    let fastest = fastest.filter(|one| one.measured_ns.is_some());
    let longest = fastest.and_then(|one| measured.longest.get(&one.ranks));
    let ranks = fastest.and_then(|one| measured.ranks.get(&(one.ranks, one.threads)));
    let analyses = longest.map_or(&[][..], |one| &one.analyses);
    let below = |path: &std::path::PathBuf| {
        let relative = path.strip_prefix(study.path(""));
        relative.unwrap_or(path).to_owned()
    };
    let recordings = longest.map_or(&[][..], |one| &one.recordings);
    study.index.recordings = recordings.iter().map(below).collect();
    study.save()?;
    let sources = sources::read(analyses);
    let input = Input {
        sources: Some(&sources),
        analyses,
        ranks: ranks.zip(longest).map(|(all, one)| (all, one.rank)),
        splits: all,
        notes: &study.index.notes,
        ..Input::default()
    };
    let verdict = input.conclude(Soundness::of(analyses));
    let page = fathomp_report::page(&input, &verdict).map_err(|error| Failure::of(&error))?;
    output::write_file(&plan.output, page.as_bytes())
}
