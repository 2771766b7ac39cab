//! `fathomp bench`: what constructs, memory consistency and memory accesses
//! cost under several compilers and runtimes.

use super::bench_parts::{QUICK, choice, compilers, programs};
use super::cluster::{self, BenchNodes};
use crate::args::{Bench, FormatArg, ThreadList};
use crate::console::{Console, print};
use crate::failure::{Failure, Outcome, exit};
use crate::progress::Progress;
use crate::{host, output};
use fathomp_bench::output as formats;
use fathomp_bench::result::Document;
use fathomp_bench::run::Plan;
use fathomp_bench::runtime::{Runtime, RuntimeError, find_libomp};
use fathomp_bench::settings::Settings;
use fathomp_bench::suite::SuiteName;
use fathomp_bench::summary::{Summary, summarise};
use fathomp_runtime::Unpacked;
use std::path::Path;

pub(super) fn bench(plan: &Bench, console: Console) -> Outcome {
    check_outputs(plan)?;
    if let Some(code) = cluster::bench_dsm(plan, console)? {
        return Ok(code);
    }
    if plan.format == FormatArg::Epcc && !plan.suites().contains(&SuiteName::Epcc) {
        return Err(Failure::new(
            "--format epcc prints what EPCC's programs would: ask for the suite epcc with it",
        )
        .with_code(exit::USAGE));
    }
    let documents = match cluster::simulated(plan, console)? {
        Some(documents) => documents,
        None => measured(plan, console)?,
    };
    let summary = summarise(&documents, plan.baseline.as_deref());
    if let Some(name) = plan
        .baseline
        .as_deref()
        .filter(|_| summary.subject.is_none())
    {
        let names: Vec<&str> = summary
            .columns
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        console.warn(format!(
            "nothing is compared: \"{name}\" is not among several columns ({})",
            names.join(", ")
        ));
    }
    write_outputs(plan, console, &documents, &summary)?;
    if console.json {
        console.result("fathomp.bench.summary", &summary, String::new)?;
    } else if plan.format == FormatArg::Epcc {
        print(&fathomp_bench::epcc::text(&summary.epcc))?;
    } else if plan.format == FormatArg::Markdown {
        print(&formats::markdown(&summary))?;
    } else {
        print(&formats::table(&summary))?;
    }
    let met = summary.verdicts.iter().all(|verdict| verdict.is_met());
    let measured = summary
        .points
        .iter()
        .any(|point| (0..summary.columns.len()).any(|column| point.estimate(column).is_some()));
    Ok(if !measured || (plan.check && !met) {
        exit::FAILED
    } else {
        0
    })
}

/// What programs take that are run.
fn measured(plan: &Bench, console: Console) -> Result<Vec<Document>, Failure> {
    let unpacked = fathomp_runtime::unpack()?;
    let compilers = compilers(&plan.cc, &unpacked.cache, console)?;
    let nodes = BenchNodes::of(plan)?;
    let settings = settings(plan, &nodes)?;
    let runtimes = runtimes(plan, &nodes, &settings, &unpacked)?;
    let mut measurements = Vec::new();
    for suite in plan.suites() {
        let programs = programs(suite, &compilers, &unpacked.cache)?;
        let measurement = Plan::new(suite, &programs, &runtimes, &choice(plan), settings.clone())?;
        measurements.push(measurement);
    }
    measure(&measurements, console)
}

fn settings(plan: &Bench, nodes: &BenchNodes) -> Result<Settings, Failure> {
    let (samples, runs) = if plan.quick {
        QUICK
    } else {
        (plan.samples, plan.runs)
    };
    let doubling = || ThreadList::doubling(host::usable_cpus());
    let ThreadList(threads) = nodes
        .counts()?
        .or_else(|| plan.threads.clone())
        .unwrap_or_else(doubling);
    Ok(Settings {
        threads,
        runs,
        samples,
        target_us: f64::from(plan.target_us),
        affinity: plan.affinity.into(),
        wait_policy: plan.wait_policy.into(),
        quick: !plan.full,
        ..Settings::default()
    })
}

fn runtimes(
    plan: &Bench,
    nodes: &BenchNodes,
    settings: &Settings,
    unpacked: &Unpacked,
) -> Result<Vec<Runtime>, Failure> {
    let mut names: Vec<&str> = plan.runtime.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.extend(nodes.usual_name());
    }
    if names.is_empty() {
        names.extend(["fathomp", "libgomp"]);
        names.extend(find_libomp().map(|_| "libomp"));
    }
    let mut runtimes: Vec<Runtime> = Vec::new();
    for text in names {
        let named = match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Some(Runtime::from_library(name, Path::new(path))?)
            }
            _ => nodes.runtime(text, settings, unpacked)?,
        };
        let runtime = match (named, text) {
            (Some(runtime), _) => runtime,
            (None, "fathomp") => Runtime::from_library(text, &unpacked.library)?,
            (None, "libgomp") => Runtime::libgomp(),
            (None, "libomp") => Runtime::libomp()?,
            (None, _) => return Err(RuntimeError::Unknown(text.to_owned()).into()),
        };
        if runtimes.iter().any(|known| known.name == runtime.name) {
            return Err(Failure::new(format!(
                "two runtimes are called \"{}\": give each a name of its own",
                runtime.name
            )));
        }
        runtimes.push(runtime);
    }
    nodes.check(&runtimes)?;
    Ok(runtimes)
}

fn measure(measurements: &[Plan], console: Console) -> Result<Vec<Document>, Failure> {
    let steps = measurements.iter().map(Plan::steps).sum();
    let progress = Progress::start(console, steps);
    let mut before = 0;
    let mut documents = Vec::new();
    for measurement in measurements {
        let document = measurement.measure(|step| {
            progress.at(
                before + step.done,
                format!("{}, {}", step.case, step.column),
            );
        })?;
        before += measurement.steps();
        documents.push(document);
    }
    progress.finish();
    Ok(documents)
}

/// Says before the work what could not be written after it.
fn check_outputs(plan: &Bench) -> Result<(), Failure> {
    for path in [&plan.output, &plan.csv, &plan.html].into_iter().flatten() {
        output::check_file(path, plan.force)?;
    }
    if let Some(directory) = &plan.gnuplot {
        output::check_directory(directory, plan.force)?;
    }
    Ok(())
}

fn write_outputs(
    plan: &Bench,
    console: Console,
    documents: &[Document],
    summary: &Summary,
) -> Result<(), Failure> {
    let write = |path: &Path, text: &str| {
        output::write_file(path, text.as_bytes())?;
        console.say(format!("wrote {}", path.display()));
        Ok::<(), Failure>(())
    };
    if let Some(path) = &plan.output {
        let mut text = String::new();
        for document in documents {
            text.push_str(&serde_json::to_string(document)?);
            text.push('\n');
        }
        write(path, &text)?;
    }
    if let Some(path) = &plan.csv {
        write(path, &formats::csv(documents))?;
    }
    if let Some(path) = &plan.html {
        let page = fathomp_report::bench_page(summary, &[])?;
        write(path, &page)?;
    }
    if let Some(directory) = &plan.gnuplot {
        output::write_plots(directory, &formats::gnuplot(summary), console)?;
    }
    Ok(())
}
