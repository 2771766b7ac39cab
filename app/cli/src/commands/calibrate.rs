//! `fathomp calibrate`: what constructs and memory cost on this machine.

use super::cluster::NodesToPrice;
use crate::args::{Calibrate, ThreadList};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::{calibrate, host, output};
use fathomp_predict::machine::Machine;
use fathomp_predict::prices::{Cluster as Prices, Ends, Priced, Synchronisation};
use fathomp_report::text::Grid;
use fathomp_types::text::NO_TERMINAL;
use std::fmt::Write as _;

pub(super) fn calibrate(plan: &Calibrate, console: Console) -> Outcome {
    let threads = plan
        .threads
        .clone()
        .unwrap_or_else(|| ThreadList::doubling(host::usable_cpus()));
    if let Some(path) = &plan.output {
        output::check_file(path, plan.force)?;
    }
    let unpacked = fathomp_runtime::unpack()?;
    let nodes = NodesToPrice::of(&plan.nodes)?;
    let cluster_steps = nodes.as_ref().map_or(0, NodesToPrice::steps);
    let progress = Progress::start(console, threads.0.len() + cluster_steps);
    let calibrated = calibrate::machine(&unpacked, &threads.0, plan.recalibrate, |done| {
        progress.at(done, "measuring this machine");
    })?;
    let mut machine = calibrated.machine;
    let mut doubts: Vec<String> = calibrated.doubt.into_iter().collect();
    if let Some(nodes) = nodes {
        let (cluster, doubtful) = nodes.price(&unpacked, |done| {
            progress.at(threads.0.len() + done, "measuring nodes");
        })?;
        machine.cluster = Some(cluster);
        doubts.extend(doubtful);
    }
    progress.finish();
    doubts.dedup();
    for doubt in doubts {
        console.warn(doubt);
    }
    let text = machine.to_json()? + "\n";
    if let Some(path) = &plan.output {
        output::write_file(path, text.as_bytes())?;
        console.say(format!("wrote {}", path.display()));
    }
    if console.json {
        crate::console::print(&text)?;
    } else if !console.quiet {
        crate::console::print(&table(&machine).map_err(Failure::from)?)?;
    }
    Ok(0)
}

fn table(machine: &Machine) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    writeln!(
        text,
        "{}, {} processors usable",
        machine.cpu_model, machine.cores
    )?;
    writeln!(
        text,
        "timer: resolution {:.0} ns, reading {:.1} ns",
        machine.timer_resolution_ns, machine.timer_cost_ns
    )?;
    for cache in &machine.caches {
        writeln!(
            text,
            "level {} cache: {} KiB, shared by {}",
            cache.level,
            cache.bytes >> 10,
            cache.shared_by
        )?;
    }
    text.push('\n');
    let mut grid = Grid::new("threads").columns([
        "fork/join ns",
        "barrier ns",
        "chunk ns",
        "lock ns",
        "copy GB/s",
    ]);
    for row in &machine.constructs {
        let mut copies = machine.bandwidth.iter();
        let copy = copies.find(|copy| copy.threads == row.threads);
        let [fork_join_ns, barrier_ns] = [row.fork_join_ns, row.barrier_ns];
        let ns = [fork_join_ns, barrier_ns, row.dynamic_chunk_ns, row.lock_ns];
        let mut cells = ns.map(|ns| format!("{ns:.1}")).to_vec();
        cells.push(copy.map_or_else(
            || "-".to_owned(),
            |copy| format!("{:.1}", copy.bytes_per_s * 1e-9),
        ));
        grid.row(row.threads.to_string(), cells);
    }
    text += &grid.render(NO_TERMINAL);
    if let Some(contended) = &machine.contention {
        writeln!(
            text,
            "\ncache line that two threads write: {:.1} ns more an addition, {:.1} ns an atomic one",
            contended.plain_ns, contended.atomic_ns
        )?;
    }
    if let Some(cluster) = &machine.cluster {
        text += &prices(cluster)?;
    }
    Ok(text)
}

/// Names of measured prices, the prices, and names of their intervals.
fn faults(cluster: &Prices) -> Vec<(&'static str, f64, &'static str)> {
    let mut rows = Vec::new();
    if let Some(homeless) = &cluster.homeless {
        rows.extend([
            ("write fault", homeless.write_fault_us, "write_fault_us"),
            ("fetch fault", homeless.fetch_fault_us, "fetch_fault_us"),
        ]);
    }
    if let Some(home) = &cluster.home {
        let [local, remote] = [home.local_write_fault_us, home.remote_write_fault_us];
        rows.extend([
            ("local write fault", local, "local_write_fault_us"),
            ("remote write fault", remote, "remote_write_fault_us"),
            ("fetch fault", home.fetch_fault_us, "fetch_fault_us"),
        ]);
        let diffs = home.diffs_to_home.iter();
        rows.extend(diffs.map(|diff| ("diff to home", diff.us, "diffs_to_home")));
    }
    rows
}

/// What faults and synchronisation between nodes cost.
fn prices(cluster: &Prices) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let Some(measured) = &cluster.measured else {
        return Ok(text);
    };
    let within = |ends: &Ends| format!("({:.1} to {:.1})", ends[0], ends[1]);
    writeln!(text, "\n{}", cluster.about)?;
    let network = [
        (
            "latency",
            cluster.network.latency_us,
            &measured.latency_us,
            "us",
        ),
        (
            "bandwidth",
            cluster.network.bandwidth_mb_per_s,
            &measured.bandwidth_mb_per_s,
            "MB/s",
        ),
    ];
    // What was asked for is shown as such, beside what was seen of it.
    let asked = measured.network_emulated;
    let asked = asked.map(|net| [net.latency_us, net.bandwidth_mb_per_s]);
    for (at, (name, value, ends, unit)) in network.into_iter().enumerate() {
        match asked.map(|asked| asked[at]) {
            Some(asked) => writeln!(
                text,
                "{name:>20} {asked:>10.1} {unit:4} asked for, seen {:.1} to {:.1} {unit}",
                ends[0], ends[1]
            )?,
            None => writeln!(text, "{name:>20} {value:>10.1} {unit:4} {}", within(ends))?,
        }
    }
    for (name, value, key) in faults(cluster) {
        let ends = measured.prices_us.get(key).map(within).unwrap_or_default();
        writeln!(text, "{name:>20} {value:>10.1} us   {ends}")?;
    }
    text.push('\n');
    let grid = Grid::new("nodes").column("barrier us", 0);
    let mut grid = grid.column("half-full diff us", 0);
    let below = |price: &Priced| price.median <= 0.0 && price.interval[0] < 0.0;
    let half = |row: &Synchronisation| row.crowd?.half_diff_us;
    for row in &measured.synchronisation {
        let diff = match half(row) {
            Some(price) if below(&price) => "0 *".to_owned(),
            Some(price) => format!("{:.1}", price.median),
            None => "-".to_owned(),
        };
        let barrier_us = row.barrier_us.median;
        grid.row(
            row.nodes.to_string(),
            vec![format!("{barrier_us:.1}"), diff],
        );
    }
    text += &grid.render(NO_TERMINAL);
    let mut halves = measured.synchronisation.iter().filter_map(half);
    if halves.any(|price| below(&price)) {
        text += "* Less than the times around it scatter by: it cannot be told from nothing.\n";
    }
    Ok(text)
}
