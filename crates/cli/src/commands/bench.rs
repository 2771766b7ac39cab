//! `fathomp bench`: what constructs, memory consistency and memory accesses
//! cost under several compilers and runtimes.

use super::bench_dsm;
use crate::args::{Bench, ThreadList};
use crate::failure::{Failure, Outcome, exit};
use crate::progress::Progress;
use crate::voice::{Voice, print};
use crate::{host, output};
use fathomp_bench::compiler::Compiler;
use fathomp_bench::output as formats;
use fathomp_bench::result::Document;
use fathomp_bench::run::{Choice, Plan};
use fathomp_bench::runtime::{Runtime, RuntimeError, find_libomp};
use fathomp_bench::settings::Settings;
use fathomp_bench::suite::{self, Program, SuiteName};
use fathomp_bench::summary::{Summary, summarise};
use fathomp_launch::Protocol;
use fathomp_runtime::Unpacked;
use fathomp_toolchain::CompilerError;
use std::path::Path;

/// Compilers that are used if they are there.
const COMPILERS: [&str; 3] = ["gcc", "clang", "gfortran"];
/// Samples and runs for a first look.
pub(super) const QUICK: (u32, u32) = (10, 1);

pub(super) fn bench(plan: &Bench, voice: Voice) -> Outcome {
    check_outputs(plan)?;
    match plan.dsm() {
        Some(Ok(())) => return bench_dsm::bench(plan, voice),
        Some(Err(what)) => {
            return Err(Failure::new(format!(
                "bench dsm is measured in a way of its own and does not go with {what}: leave that out"
            )));
        }
        None => {}
    }
    let unpacked = fathomp_runtime::unpack()?;
    let compilers = compilers(&plan.cc, &unpacked.cache, voice)?;
    let runtimes = runtimes(&plan.runtime, &unpacked)?;
    let choice = Choice {
        only: plan.only.clone(),
        groups: plan.group.clone(),
    };
    let mut measurements = Vec::new();
    for suite in plan.suites() {
        let programs = programs(suite, &compilers, &unpacked.cache)?;
        let measurement = Plan::new(suite, &programs, &runtimes, &choice, settings(plan))?;
        measurements.push(measurement);
    }
    let documents = measure(&measurements, voice)?;
    let summary = summarise(&documents, plan.subject.as_deref());
    if let Some(name) = plan
        .subject
        .as_deref()
        .filter(|_| summary.subject.is_none())
    {
        let names: Vec<&str> = summary
            .columns
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        voice.warn(format!(
            "nothing is compared: \"{name}\" is not among several columns ({})",
            names.join(", ")
        ));
    }
    write_outputs(plan, voice, &documents, &summary)?;
    if voice.json {
        voice.result("fathomp.bench.summary", &summary, String::new)?;
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

fn settings(plan: &Bench) -> Settings {
    let (samples, runs) = if plan.quick {
        QUICK
    } else {
        (plan.samples, plan.runs)
    };
    let threads = plan
        .threads
        .clone()
        .unwrap_or_else(|| ThreadList::doubling(host::usable_cpus()));
    Settings {
        threads: threads.0,
        runs,
        samples,
        target_us: f64::from(plan.target_us),
        affinity: plan.affinity.into(),
        wait_policy: plan.wait_policy.into(),
        quick: !plan.full,
        ..Settings::default()
    }
}

/// The compilers named, or those of the usual ones that work.
fn compilers(named: &[String], cache: &Path, voice: Voice) -> Result<Vec<Compiler>, Failure> {
    if !named.is_empty() {
        return named
            .iter()
            .map(|name| Ok(Compiler::find(name, cache)?))
            .collect();
    }
    let mut found = Vec::new();
    for name in COMPILERS {
        match Compiler::find(name, cache) {
            Ok(compiler) => found.push(compiler),
            Err(CompilerError::Missing(_)) => {}
            Err(error) => voice.warn(Failure::of(&error).sentence),
        }
    }
    if found.is_empty() {
        return Err(Failure::new(
            "there is no compiler to build the benchmarks with: install gcc or clang, or name one with --cc",
        ));
    }
    Ok(found)
}

fn runtimes(named: &[String], unpacked: &Unpacked) -> Result<Vec<Runtime>, Failure> {
    let mut names: Vec<&str> = named.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.extend(["fathomp", "libgomp"]);
        names.extend(find_libomp().map(|_| "libomp"));
    }
    let mut runtimes: Vec<Runtime> = Vec::new();
    for text in names {
        let runtime = match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Runtime::from_library(name, Path::new(path))
            }
            None if text == "fathomp" => Runtime::from_library(text, &unpacked.library),
            None if let Some(protocol) = Protocol::of_name(text) => {
                Runtime::on_nodes(protocol, &unpacked.cluster_library)
            }
            None if text == "libgomp" => Ok(Runtime::libgomp()),
            None if text == "libomp" => Runtime::libomp(),
            _ => Err(RuntimeError::Unknown(text.to_owned())),
        }?;
        if runtimes.iter().any(|known| known.name == runtime.name) {
            return Err(Failure::new(format!(
                "two runtimes are called \"{}\": give each a name of its own",
                runtime.name
            )));
        }
        runtimes.push(runtime);
    }
    Ok(runtimes)
}

fn programs(
    suite: SuiteName,
    compilers: &[Compiler],
    cache: &Path,
) -> Result<Vec<Program>, Failure> {
    let mut programs = Vec::new();
    for compiler in compilers {
        let built = suite::build(suite, compiler, cache)?;
        programs.extend(built);
    }
    if programs.is_empty() {
        return Err(Failure::new(format!(
            "the {} benchmark has no program in Fortran: name a C compiler with --cc",
            suite.name()
        )));
    }
    Ok(programs)
}

fn measure(measurements: &[Plan], voice: Voice) -> Result<Vec<Document>, Failure> {
    let steps = measurements.iter().map(Plan::steps).sum();
    let progress = Progress::start(voice, steps);
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
    voice: Voice,
    documents: &[Document],
    summary: &Summary,
) -> Result<(), Failure> {
    let write = |path: &Path, text: &str| {
        output::write_file(path, text.as_bytes())?;
        voice.say(format!("wrote {}", path.display()));
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
        output::write_plots(directory, &formats::gnuplot(summary), voice)?;
    }
    Ok(())
}
