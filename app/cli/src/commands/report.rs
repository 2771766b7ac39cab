//! `fathomp report`: one offline page from recordings or results that exist.

use crate::args::{Label, Report};
use crate::console::Console;
use crate::failure::{Failure, Outcome, exit};
use crate::load::Target;
use crate::paging::{self, PagingFacts};
use crate::progress::slowly;
use crate::{load, output, sources, study};
use fathomp_analysis::{Analysis, RankRow, Ranks};
use fathomp_bench::read::is_result;
use fathomp_bench::summary::{OtherSource, summarise};
use fathomp_diagnosis::Soundness;
use fathomp_predict::Outcome as Predicted;
use fathomp_predict::prices::Cluster;
use fathomp_report::Input;
use fathomp_report::section::Section;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Serialize)]
struct Answer<'a> {
    report: &'a Path,
    recordings: usize,
    notes: &'a [String],
}

#[derive(Serialize)]
struct BenchAnswer<'a> {
    report: &'a Path,
    results: usize,
    notes: &'a [String],
}

pub(super) fn report(plan: &Report, console: Console) -> Outcome {
    output::check_file(&plan.output, plan.force)?;
    if let Some(directory) = &plan.gnuplot {
        output::check_directory(directory, plan.force)?;
    }
    let usage = |sentence: &str| Err(Failure::new(sentence).with_code(exit::USAGE));
    let results = plan.inputs.iter().filter(|input| is_result(input)).count();
    if results == plan.inputs.len() {
        return bench(plan, console);
    }
    if results > 0 {
        return Err(Failure::new(
            "results of `fathomp bench` and recordings make pages of their own: give one kind at a time",
        ));
    }
    if plan.gnuplot.is_some() {
        return usage(
            "--gnuplot draws results of `fathomp bench`, and these are recordings: leave it out",
        );
    }
    if !plan.label.is_empty() {
        return usage(
            "--label says where output of EPCC's programs was measured, and these are recordings: leave it out",
        );
    }
    let mut notes = Vec::new();
    let mut sharing = None;
    let mut samples = None;
    let mut cluster = None;
    let mut machine = crate::load::machine(plan.machine.as_deref())?;
    for input in &plan.inputs {
        let parts = study::Parts::of(input)?;
        notes.extend(parts.notes);
        sharing = sharing.or(parts.sharing);
        samples = samples.or(parts.samples);
        cluster = cluster.or(parts.cluster);
        machine = machine.or(parts.machine);
    }
    let of_machine = || machine.as_ref().and_then(|machine| machine.cluster.clone());
    let measured = cluster.or_else(of_machine);
    let target = Target {
        machine,
        cores: plan.cores,
    };
    let ranks = ranks_in(plan, console)?;
    let inputs = match &ranks {
        Some(ranks) => vec![ranks.shown.1.clone()],
        None => plan.inputs.clone(),
    };
    let (recordings, paging) = with_paging(&inputs, &mut notes)?;
    let analyses = slowly(console, "reading recordings", || {
        load::analyses(&recordings, target.machine.as_ref())
    })?;
    let on_nodes_alone = analyses.iter().all(|one| one.program.nodes > 1);
    if plan.cores.is_some() && (analyses.is_empty() || on_nodes_alone) {
        return usage(
            "--cores predicts programs whose threads share memory, and these recordings have none: leave it out",
        );
    }
    let soundness = Soundness::of(&analyses);
    let prediction = load::predict_or_note(&analyses, &soundness, &target, &mut notes);
    let nodes = on_nodes(plan, measured, &analyses, &target, &mut notes)?;
    let sources = sources::read(&analyses);
    let (regions, advice) = slowly(console, "looking at what regions contain", || {
        super::advise::for_report(&recordings, &analyses, target.machine.as_ref(), &mut notes)
    });
    let sections: Vec<&dyn Section> = paging.iter().map(|one| one as _).collect();
    let input = Input {
        regions: regions.as_ref(),
        advice: advice.as_ref(),
        sources: Some(&sources),
        analyses: &analyses,
        ranks: ranks.as_ref().map(|ranks| (&ranks.all, ranks.shown.0)),
        splits: &[],
        prediction: prediction.as_ref().and_then(Predicted::threads),
        nodes: nodes.as_ref().and_then(Predicted::observed),
        machine: target.machine.as_ref(),
        sharing: sharing.as_ref(),
        samples: samples.as_ref(),
        sections: &sections,
        notes: &notes,
    };
    let page = fathomp_report::page(&input, &input.conclude(soundness))?;
    output::write_file(&plan.output, page.as_bytes())?;
    console.say(format!("wrote {}", plan.output.display()));
    if console.json {
        let answer = Answer {
            report: &plan.output,
            recordings: recordings.len().max(usize::from(paging.is_some())),
            notes: &notes,
        };
        console.result("fathomp.report", &answer, String::new)?;
    }
    Ok(0)
}

/// All ranks of a program of MPI, and the one that is shown in detail: its number and recording.
struct RanksShown {
    all: Ranks,
    shown: (u32, PathBuf),
}

/// The ranks whose recordings lie in the one input, if they do. Shown is the one that is outside MPI
/// longest: the others wait for it.
fn ranks_in(plan: &Report, console: Console) -> Result<Option<RanksShown>, Failure> {
    let [input] = plan.inputs.as_slice() else {
        return Ok(None);
    };
    let found = slowly(console, "reading recordings", || load::ranks(input))?;
    Ok(found.map(|found| {
        let all = found.together;
        let outside = |row: &&RankRow| row.wall_ns.saturating_sub(row.mpi_ns);
        let longest = all.ranks.iter().max_by_key(outside);
        let number = longest.map_or(0, |row| row.rank);
        let shown = found.directories.iter().find(|one| one.0 == number);
        let directory = shown.map_or_else(PathBuf::new, |one| one.1.clone());
        RanksShown {
            all,
            shown: (number, directory),
        }
    }))
}

/// The recordings of regions among the inputs, and the paging of the first that has any.
/// A recording of a program without OpenMP has nothing but paging.
fn with_paging(
    inputs: &[PathBuf],
    notes: &mut Vec<String>,
) -> Result<(Vec<PathBuf>, Option<PagingFacts>), Failure> {
    let mut recordings = Vec::new();
    let mut shown = None;
    for input in inputs {
        for recording in study::recordings_in(input)? {
            let is_there = paging::is_there(&recording);
            if is_there && shown.is_some() {
                notes.push(format!(
                    "Of several recordings with paging, that of {} is not shown; make a page of it alone.",
                    recording.display()
                ));
            } else if is_there {
                shown = paging::facts(&recording)?;
            }
            if !is_there || load::has_regions(&recording) {
                recordings.push(recording);
            }
        }
    }
    Ok((recordings, shown))
}

/// What the published models say of recordings on nodes, with the prices of the cluster
/// that was named or else of the machine.
fn on_nodes(
    plan: &Report,
    measured: Option<Cluster>,
    analyses: &[Analysis],
    target: &Target,
    notes: &mut Vec<String>,
) -> Result<Option<Predicted>, Failure> {
    let named = plan.cluster.as_deref().map(Cluster::find).transpose();
    let named = named.map_err(|error| Failure::of(&error))?;
    let Some(cluster) = named.or(measured) else {
        return Ok(None);
    };
    let asked = plan.cluster.is_some();
    if !asked && analyses.iter().all(|one| one.dsm.is_none()) {
        return Ok(None);
    }
    Ok(load::compare_or_note(analyses, target, &cluster, notes))
}

/// The page about benchmark results.
fn bench(plan: &Report, console: Console) -> Outcome {
    let of_recordings = [
        (plan.cores.is_some(), "--cores"),
        (plan.machine.is_some(), "--machine"),
        (plan.cluster.is_some(), "--cluster"),
    ];
    if let Some((_, option)) = of_recordings.into_iter().find(|(given, _)| *given) {
        return Err(Failure::new(format!(
            "{option} is for predictions from recordings, and these are results of benchmarks: leave it out"
        ))
        .with_code(exit::USAGE));
    }
    let joined = fathomp_bench::read::read(&plan.inputs)?;
    for note in &joined.notes {
        console.warn(note);
    }
    let mut summary = summarise(&joined.documents, None);
    for row in joined.epcc {
        fathomp_bench::epcc::add(&mut summary.epcc, row);
    }
    summary.others = others(plan, joined.others)?;
    let page = fathomp_report::bench_page(&summary, &joined.notes)?;
    output::write_file(&plan.output, page.as_bytes())?;
    console.say(format!("wrote {}", plan.output.display()));
    if let Some(directory) = &plan.gnuplot {
        output::write_plots(
            directory,
            &fathomp_bench::output::gnuplot(&summary),
            console,
        )?;
    }
    if console.json {
        let answer = BenchAnswer {
            report: &plan.output,
            results: joined.documents.len(),
            notes: &joined.notes,
        };
        console.result("fathomp.report.bench", &answer, String::new)?;
    }
    Ok(0)
}

/// The files of other programs' output, each with what the user says of its machine.
fn others(plan: &Report, names: Vec<String>) -> Result<Vec<OtherSource>, Failure> {
    let is_of = |label: &Label, name: &str| label.file.as_deref().is_none_or(|file| file == name);
    let lost = |label: &&Label| !names.iter().any(|name| is_of(label, name));
    if let Some(label) = plan.label.iter().find(lost) {
        return Err(Failure::new(format!(
            "--label says where output of EPCC's own programs was measured, and {}",
            match &label.file {
                Some(file) => format!("no such file given is called {file}: name one that is"),
                None => "none was given: leave it out".to_owned(),
            }
        ))
        .with_code(exit::USAGE));
    }
    let value = |file: &str, name: &str| {
        let mut labels = plan.label.iter().rev();
        let label = labels.find(|label| label.name == name && is_of(label, file));
        label.map_or_else(|| "–".to_owned(), |label| label.value.clone())
    };
    let other = |name: String| OtherSource {
        facts: Label::NAMES
            .iter()
            .map(|of| (of[..1].to_uppercase() + &of[1..], value(&name, of)))
            .collect(),
        name,
    };
    Ok(names.into_iter().map(other).collect())
}
