//! `fathomp bench`: what constructs, memory consistency and memory accesses
//! cost under several compilers and runtimes.

use super::bench_parts::{QUICK, choice, column_name, compilers, programs};
use super::{bench_dsm, bench_simulated};
use crate::args::{Bench, Cluster, FormatArg, Net, ThreadList};
use crate::console::{Console, print};
use crate::failure::{Failure, Outcome, exit};
use crate::hosts::Across;
use crate::progress::Progress;
use crate::{host, output};
use fathomp_bench::output as formats;
use fathomp_bench::result::Document;
use fathomp_bench::run::Plan;
use fathomp_bench::runtime::{OnNodes, Runtime, RuntimeError, find_libomp};
use fathomp_bench::settings::Settings;
use fathomp_bench::suite::SuiteName;
use fathomp_bench::summary::{Summary, summarise};
use fathomp_launch::Protocol;
use fathomp_runtime::Unpacked;
use std::path::Path;

pub(super) fn bench(plan: &Bench, console: Console) -> Outcome {
    check_outputs(plan)?;
    match plan.dsm() {
        Some(Ok(())) => return bench_dsm::bench(plan, console),
        Some(Err(what)) => {
            return Err(Failure::new(format!(
                "bench dsm is measured in a way of its own and does not go with {what}: leave that out"
            )));
        }
        None => {}
    }
    if plan.format == FormatArg::Epcc && !plan.suites().contains(&SuiteName::Epcc) {
        return Err(Failure::new(
            "--format epcc prints what EPCC's programs would: ask for the suite epcc with it",
        )
        .with_code(exit::USAGE));
    }
    let documents = match plan.simulated.is_empty() {
        true => measured(plan, console)?,
        false => bench_simulated::documents(plan, console)?,
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
    let settings = settings(plan)?;
    let runtimes = runtimes(plan, &settings, &unpacked)?;
    let mut measurements = Vec::new();
    for suite in plan.suites() {
        let programs = programs(suite, &compilers, &unpacked.cache)?;
        let measurement = Plan::new(suite, &programs, &runtimes, &choice(plan), settings.clone())?;
        measurements.push(measurement);
    }
    measure(&measurements, console)
}

fn settings(plan: &Bench) -> Result<Settings, Failure> {
    let (samples, runs) = if plan.quick {
        QUICK
    } else {
        (plan.samples, plan.runs)
    };
    let across = Across::of(&plan.on)?;
    let most = across.as_ref().map(|across| across.nodes().into());
    let named = plan.nodes.clone().or_else(|| plan.threads.clone());
    let ThreadList(threads) =
        named.unwrap_or_else(|| ThreadList::doubling(most.unwrap_or_else(host::usable_cpus)));
    if let (Some(across), Some(largest)) = (&across, threads.last()) {
        across.check(*largest)?;
    }
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
    settings: &Settings,
    unpacked: &Unpacked,
) -> Result<Vec<Runtime>, Failure> {
    let across = Across::of(&plan.on)?;
    let mut names: Vec<&str> = plan.runtime.iter().map(String::as_str).collect();
    if names.is_empty() && plan.speaks_of_nodes() {
        names.push(plan.dsm.name());
    } else if names.is_empty() {
        names.extend(["fathomp", "libgomp"]);
        names.extend(find_libomp().map(|_| "libomp"));
    }
    let mut runtimes: Vec<Runtime> = Vec::new();
    for text in names {
        let runtime = match (text.split_once('='), Protocol::of_name(text)) {
            (Some((name, path)), _) if !name.is_empty() && !path.is_empty() => {
                Runtime::from_library(name, Path::new(path))
            }
            (None, Some(protocol)) => {
                let nodes = nodes(plan, settings, protocol, across.as_ref());
                let between = match (&across, plan.net) {
                    (Some(_), _) => Some("hosts".to_owned()),
                    (None, net) => net.map(Net::name),
                };
                let name = column_name(protocol, plan.dsm_plain, between.as_deref());
                Runtime::on_nodes(&name, nodes, &unpacked.cluster_library)
            }
            _ if across.is_some() => {
                return Err(Failure::new(format!(
                    "\"{text}\" runs on one machine: over hosts, name home or homeless with --runtime"
                ))
                .with_code(exit::USAGE));
            }
            (None, None) if text == "fathomp" => Runtime::from_library(text, &unpacked.library),
            (None, None) if text == "libgomp" => Ok(Runtime::libgomp()),
            (None, None) if text == "libomp" => Runtime::libomp(),
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
    if plan.speaks_of_nodes() && runtimes.iter().all(|runtime| runtime.nodes.is_none()) {
        return Err(Failure::new(
            "--nodes, --net and --dsm-plain speak of nodes, and no runtime runs on nodes: name home or homeless with --runtime",
        )
        .with_code(exit::USAGE));
    }
    Ok(runtimes)
}

/// How a column runs on nodes.
fn nodes(
    plan: &Bench,
    settings: &Settings,
    protocol: Protocol,
    across: Option<&Across>,
) -> OnNodes {
    let words = |across: &Across, count: u32| {
        let cluster = Cluster {
            nodes: u16::try_from(count).unwrap_or(u16::MAX),
            dsm: protocol,
            dsm_plain: plan.dsm_plain,
            ..Cluster::ONE
        };
        (count, across.words(cluster))
    };
    let counts = settings.threads.iter().copied().chain([1]);
    let in_front = across.map(|across| counts.map(|count| words(across, count)).collect());
    OnNodes {
        plain: plan.dsm_plain,
        network: plan.net.map(|Net(network)| network),
        in_front: in_front.unwrap_or_default(),
        ..OnNodes::here(protocol)
    }
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
