//! `fathomp bench dsm`: what sharing memory between nodes costs, beside the least
//! that kernel and machine take for it.

use crate::args::bench::{AffinityArg, FormatArg, SuiteArg, TARGET_US, WaitPolicyArg};
use crate::args::cluster::{Cluster, Net};
use crate::args::{Bench, ThreadCount, ThreadList};
use crate::commands::bench_parts::QUICK;
use crate::console::{Console, print};
use crate::failure::{Failure, Outcome, exit};
use crate::hosts::Across;
use crate::launch::{self, told_alone};
use crate::progress::Progress;
use crate::{host, output};
use fathomp_bench::compiler::Compiler;
use fathomp_bench::floors::{self, Built, Document, Extent, Ground, Nodes, OnHosts, WireFloor};
use fathomp_bench::runtime::Interface;
use fathomp_launch::Plan;
use fathomp_runtime::Unpacked;
use std::path::Path;
use std::process::Command;

/// Round trips of each kind in a run.
const TRIPS: u32 = 500;
/// Pages in a sample, and MiB of the array.
const SIZES: (u32, u32) = (512, 256);
/// The same for a first look.
const QUICK_SIZES: (u32, u32) = (128, 64);

/// Measures it, if that is what was asked for.
pub(in crate::commands) fn bench(plan: &Bench, console: Console) -> Result<Option<u8>, Failure> {
    if !plan.suites.contains(&SuiteArg::Dsm) {
        return Ok(None);
    }
    if let Some(what) = unsuitable(plan) {
        return Err(Failure::new(format!(
            "bench dsm is measured in a way of its own and does not go with {what}: leave that out"
        )));
    }
    measure(plan, console).map(Some)
}

/// What was asked for that has no meaning where nodes are measured.
fn unsuitable(plan: &Bench) -> Option<&'static str> {
    let nodes = &plan.nodes;
    let unsuitable = [
        (plan.suites.len() > 1, "another suite"),
        (!plan.runtime.is_empty(), "--runtime"),
        (plan.threads.is_some(), "--threads"),
        (plan.affinity != AffinityArg::Close, "--affinity"),
        (plan.wait_policy != WaitPolicyArg::Default, "--wait-policy"),
        (!plan.only.is_empty(), "--only"),
        (!plan.group.is_empty(), "--group"),
        (plan.target_us != TARGET_US, "--target-us"),
        (plan.full, "--full"),
        (!nodes.simulated.is_empty(), "--simulated"),
        (plan.baseline.is_some(), "--baseline"),
        (plan.format != FormatArg::Table, "--format"),
        (
            nodes.nodes.is_some() && nodes.net.is_none() && !nodes.on.are_asked_for(),
            "--nodes without --net or --hosts",
        ),
        (plan.csv.is_some(), "--csv"),
        (plan.gnuplot.is_some(), "--gnuplot"),
        (plan.html.is_some(), "--html"),
        (plan.cc.len() > 1, "a second compiler"),
    ];
    let mut given = unsuitable.into_iter().filter(|(given, _)| *given);
    given.next().map(|(_, what)| what)
}

fn measure(plan: &Bench, console: Console) -> Outcome {
    let unpacked = fathomp_runtime::unpack()?;
    let name = plan.cc.first().map_or("gcc", String::as_str);
    let compiler = Compiler::find(name, &unpacked.cache)?;
    if compiler.fortran || compiler.interface != Interface::Gnu {
        return Err(Failure::new(format!(
            "nodes run C programs of gcc, which {name} does not make: name another compiler with --cc"
        )));
    }
    let built = floors::build(&compiler, &unpacked.cache)?;
    let extent = extent(plan);
    let document = match (Across::of(&plan.nodes.on)?, plan.nodes.net) {
        (Some(across), _) => over_hosts(plan, &across, &built, extent, console)?,
        (None, Some(net)) => over_emulated(plan, net, (&unpacked, &built), extent, console)?,
        (None, None) => on_this_machine(plan, &unpacked, &built, extent, console)?,
    };
    let json = serde_json::to_string_pretty(&document)? + "\n";
    if let Some(path) = &plan.output {
        output::write_file(path, json.as_bytes())?;
        console.say(format!("wrote {}", path.display()));
    }
    print(&match console.json {
        true => json,
        false => floors::table(&document),
    })?;
    Ok(if plan.check && !document.is_met() {
        exit::FAILED
    } else {
        0
    })
}

fn extent(plan: &Bench) -> Extent {
    let ((rounds, runs), (pages, array_mib)) = match plan.quick {
        true => (QUICK, QUICK_SIZES),
        false => ((plan.samples, plan.runs), SIZES),
    };
    Extent {
        runs,
        rounds,
        pages,
        array_mib,
    }
}

/// Beside what the network between the hosts takes.
fn over_hosts(
    plan: &Bench,
    across: &Across,
    built: &Built,
    extent: Extent,
    console: Console,
) -> Result<Document, Failure> {
    let on_nodes = |program: &Path, nodes: Nodes| {
        across.run(
            program,
            Cluster {
                nodes: nodes.count,
                dsm: plan.nodes.dsm,
                dsm_plain: plan.nodes.dsm_plain || nodes.plain,
                ..Cluster::ONE
            },
        )
    };
    let most = u32::from(across.nodes());
    let named = plan.nodes.nodes.clone().map(|ThreadList(sizes)| sizes);
    let sizes = named.unwrap_or_else(|| if most > 2 { vec![2, most] } else { vec![2] });
    across.check(sizes.iter().copied().chain([2]).max().unwrap_or(2))?;
    let sizes: Vec<u16> = sizes
        .iter()
        .filter_map(|size| u16::try_from(*size).ok())
        .collect();
    if sizes.contains(&1) || across.count() < 2 {
        return Err(Failure::new(
            "what sharing memory over hosts costs takes two hosts and two nodes: name a second host, and leave 1 out of --nodes",
        )
        .with_code(exit::USAGE));
    }
    let ground = OnHosts {
        on_nodes: &on_nodes,
        floor: &|hosts| floors::wire_floor(&mut across.floor(hosts, TRIPS)),
        names: across.names(),
        hosts: across.count(),
        nodes: &sizes,
    };
    measured(built, &ground, extent, console)
}

/// Runs the measurements, and says how far they are.
fn measured(
    built: &Built,
    ground: &OnHosts<'_>,
    extent: Extent,
    console: Console,
) -> Result<Document, Failure> {
    let steps = floors::steps_on_hosts(extent, ground.nodes.len());
    let progress = Progress::start(console, steps);
    let document = floors::measure_on_hosts(&built.prices, ground, extent, |step| {
        progress.at(step.done, step.what);
    })?;
    progress.finish();
    Ok(document)
}

/// Beside what an emulated network takes by its numbers.
fn over_emulated(
    plan: &Bench,
    net: Net,
    (unpacked, built): (&Unpacked, &Built),
    extent: Extent,
    console: Console,
) -> Result<Document, Failure> {
    let cluster = Cluster {
        dsm: plan.nodes.dsm,
        net: Some(net),
        ..Cluster::ONE
    };
    let on_nodes = |program: &Path, nodes: Nodes| {
        let cluster = Cluster {
            nodes: nodes.count,
            dsm_plain: plan.nodes.dsm_plain || nodes.plain,
            ..cluster
        };
        let mut plan = launch::plan(Some(ThreadCount(1)), cluster.asked());
        plan.preload = vec![launch::library(unpacked, cluster.asked()).to_owned()];
        told_alone(program, &plan)
    };
    let named = plan.nodes.nodes.clone().map(|ThreadList(sizes)| sizes);
    let sizes: Vec<u16> = named
        .unwrap_or_else(|| vec![2, 4])
        .iter()
        .filter_map(|size| u16::try_from(*size).ok())
        .collect();
    if sizes.contains(&1) {
        return Err(Failure::new(
            "what sharing memory over a network costs takes two nodes: leave 1 out of --nodes",
        )
        .with_code(exit::USAGE));
    }
    let most = sizes.iter().copied().max().unwrap_or(2).max(2);
    let Net(network) = net;
    let floor = WireFloor::of_network(network.latency_us(), network.mb_per_s(), most);
    let ground = OnHosts {
        on_nodes: &on_nodes,
        floor: &|_| Ok(floor.clone()),
        names: net.name(),
        hosts: most,
        nodes: &sizes,
    };
    measured(built, &ground, extent, console)
}

/// Beside the least that kernel and machine take.
fn on_this_machine(
    plan: &Bench,
    unpacked: &Unpacked,
    built: &Built,
    extent: Extent,
    console: Console,
) -> Result<Document, Failure> {
    let myself = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find fathomp's own program: {error}")))?;
    let (dsm, dsm_plain) = (plan.nodes.dsm, plan.nodes.dsm_plain);
    let protocol = dsm.name();
    let on_nodes = |program: &Path, nodes: Nodes| {
        let cluster = Cluster {
            nodes: nodes.count,
            dsm,
            dsm_plain: dsm_plain || nodes.plain,
            ..Cluster::ONE
        };
        let mut plan = launch::plan(Some(ThreadCount(1)), cluster.asked());
        plan.preload = vec![launch::library(unpacked, cluster.asked()).to_owned()];
        if let Some(cluster) = &mut plan.cluster {
            cluster.faults = Some(nodes.scheme);
        }
        told_alone(program, &plan)
    };
    let alone = |program: &Path, threads: u16| {
        let threads = Some(ThreadCount(threads.into()));
        told_alone(program, &launch::plan(threads, None))
    };
    let by_user = |program: &Path, nodes: u16| -> Command {
        let mut command = told_alone(&myself, &Plan::default());
        command
            .args(["run", "--threads", "1", "--dsm", protocol, "--nodes"])
            .arg(nodes.to_string())
            .arg("--")
            .arg(program);
        command
    };
    let ground = Ground {
        on_nodes: &on_nodes,
        alone: &alone,
        by_user: &by_user,
    };
    let processors = usize::try_from(host::usable_cpus()).unwrap_or(1);
    let progress = Progress::start(console, floors::steps(extent, processors));
    let document = floors::measure(built, &ground, extent, |step| {
        progress.at(step.done, step.what);
    })?;
    progress.finish();
    Ok(document)
}
