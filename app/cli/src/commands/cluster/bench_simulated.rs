//! `fathomp bench mcbench --simulated`: what it takes on clusters that are not there.

use super::bench_nodes::column_name;
use crate::args::{Bench, ThreadList};
use crate::commands::bench_parts::{choice, compilers, programs};
use crate::console::Console;
use crate::failure::{Failure, exit};
use crate::progress::Progress;
use fathomp_bench::result::Document;
use fathomp_bench::settings::Settings;
use fathomp_bench::suite::{Row, SuiteName};
use fathomp_cluster_commands::Priced;
use fathomp_cluster_commands::args::HomesName;
use fathomp_cluster_commands::simulated::{self, Plan, Way};
use fathomp_launch::{DIFF_MEMORY_MIB, Protocol};
use fathomp_predict::prices::Cluster;
use std::path::Path;

/// A document for each cluster that was named, if any was.
pub(in crate::commands) fn simulated(
    plan: &Bench,
    console: Console,
) -> Result<Option<Vec<Document>>, Failure> {
    match plan.nodes.simulated.is_empty() {
        true => Ok(None),
        false => documents(plan, console).map(Some),
    }
}

fn documents(plan: &Bench, console: Console) -> Result<Vec<Document>, Failure> {
    if plan.suites() != [SuiteName::Mcbench] {
        return Err(usage(
            "--simulated knows what mcbench accesses, and nothing of other suites: ask for mcbench alone",
        ));
    }
    let protocols = protocols(plan)?;
    let clusters: Result<Vec<Cluster>, Failure> =
        plan.nodes.simulated.iter().map(cluster).collect();
    let clusters = clusters?;
    let cache = fathomp_runtime::unpack()?.cache;
    let mut rows: Vec<Row> = Vec::new();
    for program in programs(
        SuiteName::Mcbench,
        &compilers(&plan.cc, &cache, console)?,
        &cache,
    )? {
        program.add_rows_to(&mut rows);
    }
    let plans: Result<Vec<Plan>, Failure> = clusters
        .iter()
        .map(|cluster| on(cluster, plan, &protocols, &rows))
        .collect();
    let plans = plans?;
    let progress = Progress::start(console, plans.iter().map(Plan::steps).sum());
    let mut before = 0;
    let mut documents = Vec::new();
    for plan in &plans {
        documents.push(plan.simulate(|done, case, column| {
            progress.at(before + done, format!("{case}, {column}"));
        }));
        before += plan.steps();
    }
    progress.finish();
    Ok(documents)
}

fn usage(sentence: &str) -> Failure {
    Failure::new(sentence).with_code(exit::USAGE)
}

fn cluster(name: &String) -> Result<Cluster, Failure> {
    Cluster::find(Path::new(name)).map_err(|error| Failure::of(&error).with_code(exit::USAGE))
}

/// Those asked for, or both.
fn protocols(plan: &Bench) -> Result<Vec<Protocol>, Failure> {
    let named = plan.runtime.iter().map(|name| {
        Protocol::of_name(name).ok_or_else(|| {
            usage(&format!(
                "\"{name}\" is not simulated: give home or homeless, or both, with --runtime"
            ))
        })
    });
    let named: Vec<Protocol> = named.collect::<Result<_, _>>()?;
    Ok(match named.is_empty() {
        true => Protocol::ALL.to_vec(),
        false => named,
    })
}

fn on(
    cluster: &Cluster,
    plan: &Bench,
    protocols: &[Protocol],
    rows: &[Row],
) -> Result<Plan, Failure> {
    let doubling = || ThreadList::doubling(cluster.nodes);
    let ThreadList(nodes) = plan.nodes.nodes.clone().unwrap_or_else(doubling);
    let HomesName(homes) = plan.nodes.homes;
    let way = |protocol: &Protocol| {
        let priced = Priced::on(cluster, *protocol, plan.nodes.dsm_plain, DIFF_MEMORY_MIB)?;
        Ok(Way {
            name: column_name(*protocol, plan.nodes.dsm_plain, Some(&cluster.name)),
            protocol: *protocol,
            sharing: priced.sharing,
            homes,
            net: priced.net,
            costs: priced.costs,
        })
    };
    let ways: Result<Vec<Way>, Failure> = protocols.iter().map(way).collect();
    let settings = Settings {
        threads: nodes,
        quick: !plan.full,
        ..Settings::default()
    };
    let cluster = simulated::Cluster {
        name: cluster.name.clone(),
        about: cluster.about.clone(),
    };
    Ok(Plan::new(
        rows.to_vec(),
        cluster,
        ways?,
        &choice(plan),
        &settings,
    )?)
}
