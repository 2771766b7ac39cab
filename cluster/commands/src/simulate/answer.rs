//! What is told of a simulation.

use super::known::Known;
use super::priced::Priced;
use crate::args::Simulate;
use fathomp_access_trace::Accesses;
use fathomp_analysis::Dsm;
use fathomp_predict::prices::{Network, PricesOf};
use fathomp_report::text::{Grid, bytes, duration, percent, short_count};
use fathomp_trace_replay::{NodeOutcome, Outcome, RegionOutcome};
use fathomp_transport::Net;
use fathomp_types::Clock;
use fathomp_types::units::plural;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Serialize)]
pub(super) struct Answer {
    accesses: Vec<PathBuf>,
    /// Threads that were recorded.
    threads: Vec<usize>,
    /// Application time of all threads: what one thread alone would take.
    alone_s: f64,
    protocol: &'static str,
    plain: bool,
    homes: String,
    network: Network,
    prices: PricesOf,
    points: Vec<Point>,
}

/// A number of nodes.
#[derive(Serialize)]
pub(super) struct Point {
    nodes: usize,
    pub(super) page_bytes: u32,
    /// What so many threads access was not recorded but told from fewer.
    pub(super) extrapolated: bool,
    time_s: f64,
    /// Against one thread alone.
    speedup: f64,
    /// The time that the least bytes take on the wire, of the node to which most have to come.
    least_wire_s: f64,
    all: Node,
    by_region: Vec<Region>,
    /// Of the nodes.
    per_node: Vec<Spread>,
    /// Each node, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    each: Option<Vec<Node>>,
    /// Events of the simulation.
    events: u64,
}

/// Something that is counted at each node.
#[derive(Serialize)]
struct Spread {
    what: &'static str,
    min: u64,
    mean: f64,
    max: u64,
}

/// What happened at a node, or at all.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Node {
    #[serde(flatten)]
    pub(super) counts: Dsm,
    pub(super) messages: u64,
    work_ns: u64,
    handling_ns: u64,
    /// Bytes that others changed and that have to come here, whatever the protocol.
    least_bytes: u64,
}

impl From<&NodeOutcome> for Node {
    fn from(node: &NodeOutcome) -> Self {
        Self {
            counts: Dsm::new(&node.counts, &Clock::NANOS),
            messages: node.messages,
            work_ns: node.work_ns,
            handling_ns: node.handling_ns,
            least_bytes: node.least_bytes,
        }
    }
}

/// What happened in a region, or outside of all, at all nodes.
#[derive(Serialize)]
struct Region {
    name: String,
    instances: u64,
    /// Time of the first thread in it.
    time_s: f64,
    /// Of the program's time.
    share: f64,
    all: Node,
}

/// What the table of nodes shows, and how.
type Shown = (&'static str, fn(&Node) -> u64, fn(u64) -> String);

const SHOWN: [Shown; 15] = [
    (
        "own pages written first",
        |n| n.counts.write_faults_local,
        short_count,
    ),
    (
        "copies written first",
        |n| n.counts.write_faults_remote,
        short_count,
    ),
    ("faults that fetch", |n| n.counts.fetch_faults, short_count),
    ("pages fetched", |n| n.counts.pages_fetched, short_count),
    ("pages served", |n| n.counts.pages_served, short_count),
    ("diffs made", |n| n.counts.diffs_made, short_count),
    ("diffs put in", |n| n.counts.diffs_applied, short_count),
    ("invalidations", |n| n.counts.invalidations, short_count),
    ("locks", |n| n.counts.locks, short_count),
    ("messages sent", |n| n.messages, short_count),
    ("sent", |n| n.counts.bytes_sent, bytes),
    ("has to come", |n| n.least_bytes, bytes),
    ("application", |n| n.work_ns, time),
    ("in faults", |n| n.counts.fault_ns, time),
    ("in barriers", |n| n.counts.barrier_ns, time),
];

fn time(ns: u64) -> String {
    duration(ns as f64)
}

impl Point {
    pub(super) fn new(outcome: &Outcome, known: &Known, net: &Net, each: bool) -> Self {
        let alone_ns = known.alone_ns();
        let nodes: Vec<_> = outcome.nodes.iter().map(Node::from).collect();
        let spreads = SHOWN.iter().map(|(what, of, _)| {
            let values = || nodes.iter().map(of);
            Spread {
                what,
                min: values().min().unwrap_or(0),
                mean: values().sum::<u64>() as f64 / nodes.len().max(1) as f64,
                max: values().max().unwrap_or(0),
            }
        });
        Self {
            nodes: nodes.len(),
            page_bytes: Accesses::PAGE_BYTES,
            extrapolated: false,
            time_s: outcome.time_ns as f64 * 1e-9,
            speedup: alone_ns as f64 / outcome.time_ns.max(1) as f64,
            least_wire_s: least_wire_s(&nodes, net),
            all: Node::from(&outcome.all()),
            by_region: regions(outcome, known),
            per_node: spreads.collect(),
            each: each.then_some(nodes),
            events: outcome.events,
        }
    }

    /// How far what is sent is from the least that has to be.
    fn bound(&self) -> Option<String> {
        let (sent, least) = (self.all.counts.bytes_sent, self.all.least_bytes);
        let times = (least > 0).then(|| sent as f64 / least as f64)?;
        Some(format!(
            "On {} {} have to cross, which take {} of {} on the wire; {times:.1} times as much is sent.",
            plural(self.nodes as u64, "node"),
            bytes(least),
            duration(self.least_wire_s * 1e9),
            duration(self.time_s * 1e9),
        ))
    }

    fn speedup(&self) -> String {
        if self.speedup > 0.0 {
            format!("{:.2}", self.speedup)
        } else {
            "–".to_owned()
        }
    }
}

/// The time that what has to come takes on the wire, if all links carry it at once: that of the node to
/// which most does.
fn least_wire_s(nodes: &[Node], net: &Net) -> f64 {
    let most = nodes.iter().map(|node| node.least_bytes).max();
    most.unwrap_or(0) as f64 / (net.mb_per_s() * 1e6)
}

/// Regions in the order in which the program came to them, those of one name together;
/// those that the recording does not name are numbered.
fn regions(outcome: &Outcome, known: &Known) -> Vec<Region> {
    let mut rows: Vec<(String, RegionOutcome)> = Vec::new();
    for (number, region) in outcome.regions.iter().enumerate() {
        let name = match number {
            0 => "serial part".to_owned(),
            _ => known.name_of(region.site),
        };
        match rows.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => *sum += region,
            None => rows.push((name, region.clone())),
        }
    }
    let row = |(name, region): (String, RegionOutcome)| Region {
        name,
        instances: region.instances,
        time_s: region.time_ns as f64 * 1e-9,
        share: region.time_ns as f64 / outcome.time_ns.max(1) as f64,
        all: Node::from(&region.all),
    };
    rows.into_iter().map(row).collect()
}

impl Answer {
    pub(super) fn new(known: &Known, plan: &Simulate, priced: &Priced, points: Vec<Point>) -> Self {
        Self {
            accesses: plan.accesses.clone(),
            threads: known.all().map(|accesses| accesses.threads.len()).collect(),
            alone_s: known.alone_ns() as f64 * 1e-9,
            protocol: plan.dsm.name(),
            plain: plan.dsm_plain,
            homes: plan.homes.to_string(),
            network: Network {
                latency_us: priced.net.latency_us(),
                bandwidth_mb_per_s: priced.net.mb_per_s(),
            },
            prices: priced.prices,
            points,
        }
    }

    pub(super) fn text(&self, width: usize) -> String {
        let sizes: BTreeSet<u32> = self.points.iter().map(|point| point.page_bytes).collect();
        let mut grid = Grid::new("Nodes");
        if sizes.len() > 1 {
            grid = grid.column("Page", 0);
        }
        let mut grid = with_counts(grid.column("Time", 0).column("Speedup", 0));
        for point in &self.points {
            let all = &point.all;
            let page = (sizes.len() > 1).then(|| bytes(point.page_bytes.into()));
            let mut cells: Vec<String> = page.into_iter().collect();
            cells.extend([
                duration(point.time_s * 1e9),
                point.speedup(),
                short_count(all.counts.write_faults_local),
                short_count(all.counts.write_faults_remote),
                short_count(all.counts.fetch_faults),
                short_count(all.counts.diffs_made),
                short_count(all.messages),
                bytes(all.counts.bytes_sent),
                bytes(all.least_bytes),
            ]);
            let mark = if point.extrapolated { " *" } else { "" };
            grid.row(format!("{}{mark}", point.nodes), cells);
        }
        let Network {
            latency_us,
            bandwidth_mb_per_s,
        } = self.network;
        let prices = &self.prices.prices;
        let derived = if self.prices.derived {
            " (derived)"
        } else {
            ""
        };
        let mut text = format!(
            "recorded with {}, {} of application time; {} protocol; {latency_us} us, {bandwidth_mb_per_s} MB/s\n\
             prices in us{derived}: own page written {:.1}, copy written {:.1}, fetch {:.1}, diff {:.1}\n\n",
            match &self.threads[..] {
                [threads] => plural(*threads as u64, "thread"),
                several => format!("{} threads", numbers(several)),
            },
            duration(self.alone_s * 1e9),
            self.protocol,
            prices.local_write_us,
            prices.remote_write_us,
            prices.fetch_us,
            prices.diff_to_home_us,
        );
        text.push_str(&grid.render(width));
        for line in self.best_sizes() {
            text.push_str(&format!("\n{line}\n"));
        }
        if let Some(last) = self.points.last() {
            let size = match sizes.len() {
                0 | 1 => String::new(),
                _ => format!(" with pages of {}", bytes(last.page_bytes.into())),
            };
            text.push_str(&format!(
                "\nOn {}{size}:\n{}\n{}",
                plural(last.nodes as u64, "node"),
                last.regions_text(width),
                last.nodes_text(width)
            ));
        }
        if let Some(bound) = self.points.last().and_then(Point::bound) {
            text.push_str(&format!("\n{bound}\n"));
        }
        text.push_str(
            "\nSpeedup is against the application time of all threads, one after the other. Least: what other \
             nodes\nchanged in pages that a node then reads, once each; with pages of this size no\nprotocol can do with less.\n",
        );
        if self.points.iter().any(|point| point.extrapolated) {
            text.push_str("* What so many threads access is told from fewer.\n");
        }
        text
    }
}

impl Answer {
    /// Of several sizes of pages, the one with which each number of nodes is fastest.
    fn best_sizes(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for same in self.points.chunk_by(|a, b| a.nodes == b.nodes) {
            let best = best_of(same.iter().map(|point| (point.page_bytes, point.time_s)));
            let Some((&first, least_s)) = best.sizes.first().zip(best.time_s) else {
                continue;
            };
            let usual = same
                .iter()
                .find(|point| point.page_bytes == Accesses::PAGE_BYTES);
            let gain = match usual.filter(|_| !best.sizes.contains(&Accesses::PAGE_BYTES)) {
                Some(usual) => format!(
                    ", {:.2} times as fast as with 4 KiB",
                    usual.time_s / least_s.max(1e-12)
                ),
                None => String::new(),
            };
            let sizes = match best.sizes.last() {
                Some(&last) if last != first => best
                    .sizes
                    .iter()
                    .map(|size| bytes((*size).into()))
                    .collect::<Vec<_>>()
                    .join(" or "),
                _ => bytes(first.into()),
            };
            lines.push(format!(
                "Of these sizes, pages of {sizes} are best on {}{gain}.",
                plural(same[0].nodes as u64, "node")
            ));
        }
        lines
    }
}

/// The sizes of pages with the least time, and that time; none if all take as long.
pub(super) struct Best {
    pub(super) sizes: Vec<u32>,
    time_s: Option<f64>,
}

/// The best of these sizes and times. What differs by less than a thousandth is as good.
pub(super) fn best_of(times: impl Iterator<Item = (u32, f64)> + Clone) -> Best {
    const AS_GOOD: f64 = 1.001;
    let time_s = times
        .clone()
        .map(|(_, time_s)| time_s)
        .min_by(f64::total_cmp);
    let is_best = |time: f64| time_s.is_some_and(|least| time <= least * AS_GOOD);
    let sizes = match times.clone().all(|(_, time_s)| is_best(time_s)) {
        true => Vec::new(),
        false => times
            .filter(|(_, time_s)| is_best(*time_s))
            .map(|(size, _)| size)
            .collect(),
    };
    Best { sizes, time_s }
}

/// Columns for what nodes did.
fn with_counts(grid: Grid) -> Grid {
    grid.column("Own", 2)
        .column("Copy", 2)
        .column("Fetch", 0)
        .column("Diffs", 1)
        .column("Messages", 1)
        .column("Sent", 0)
        .column("Least", 0)
}

impl Point {
    fn regions_text(&self, width: usize) -> String {
        let grid = Grid::new("Region")
            .column("Inst", 1)
            .column("Time", 0)
            .column("Share", 0);
        let mut grid = with_counts(grid);
        for region in &self.by_region {
            let Node {
                counts,
                messages,
                least_bytes,
                ..
            } = &region.all;
            let cells = vec![
                short_count(region.instances),
                duration(region.time_s * 1e9),
                percent(region.share),
                short_count(counts.write_faults_local),
                short_count(counts.write_faults_remote),
                short_count(counts.fetch_faults),
                short_count(counts.diffs_made),
                short_count(*messages),
                bytes(counts.bytes_sent),
                bytes(*least_bytes),
            ];
            grid.row(region.name.clone(), cells);
        }
        grid.render(width)
    }

    fn nodes_text(&self, width: usize) -> String {
        let mut grid = Grid::new("Of each node")
            .column("Least", 0)
            .column("Mean", 0)
            .column("Most", 0);
        for (spread, (_, _, show)) in self.per_node.iter().zip(&SHOWN) {
            let cells = [spread.min, spread.mean.round() as u64, spread.max];
            grid.row(spread.what, cells.map(show).to_vec());
        }
        let mut text = grid.render(width);
        if let Some(each) = &self.each {
            text.push('\n');
            text.push_str(&each_text(each, width));
        }
        text
    }
}

fn numbers(numbers: &[usize]) -> String {
    let numbers: Vec<_> = numbers.iter().map(usize::to_string).collect();
    numbers.join(", ")
}

fn each_text(nodes: &[Node], width: usize) -> String {
    let mut grid = Grid::new("Node")
        .column("Own", 0)
        .column("Copy", 0)
        .column("Fetch", 0)
        .column("Served", 1)
        .column("Diffs", 1)
        .column("Sent", 2)
        .column("In faults", 0)
        .column("In barriers", 0);
    for (number, node) in nodes.iter().enumerate() {
        let cells = vec![
            short_count(node.counts.write_faults_local),
            short_count(node.counts.write_faults_remote),
            short_count(node.counts.fetch_faults),
            short_count(node.counts.pages_served),
            short_count(node.counts.diffs_made),
            bytes(node.counts.bytes_sent),
            time(node.counts.fault_ns),
            time(node.counts.barrier_ns),
        ];
        grid.row(number.to_string(), cells);
    }
    grid.render(width)
}
