//! Which size of pages would be best: `fathomp simulate --granularity`.

use super::answer::{Node, best_of};
use super::known::{Known, numbers};
use super::priced::Priced;
use crate::args::{PageSizes, Simulate};
use fathomp_access_trace::Accesses;
use fathomp_console::console::Console;
use fathomp_console::failure::{Failure, Outcome};
use fathomp_predict::prices::{Network, PricesOf, Protocol};
use fathomp_report::text::{Grid, bytes, duration, short_count};
use fathomp_trace_replay::shared_pages;
use fathomp_types::units::plural;
use serde::Serialize;
use std::path::PathBuf;

/// Protocols in the order in which they are shown.
const PROTOCOLS: [Protocol; 2] = [Protocol::Home, Protocol::Homeless];

pub(super) fn answer(plan: &Simulate, known: &Known, console: Console) -> Outcome {
    let recorded = known.all().map(|accesses| accesses.page_bytes).max();
    let recorded = recorded.unwrap_or(Accesses::PAGE_BYTES);
    let PageSizes(sizes) = PageSizes::from(recorded);
    let priced: Result<Vec<_>, Failure> = PROTOCOLS
        .iter()
        .map(|protocol| Ok((*protocol, Priced::new(plan, *protocol)?)))
        .collect();
    let priced = priced?;
    let mut tables = Vec::new();
    for nodes in numbers(plan.nodes.as_ref(), known)?
        .into_iter()
        .filter(|nodes| *nodes > 1)
    {
        let shared = falsely_shared(known, nodes, recorded, &sizes);
        let mut rows: Vec<Vec<Row>> = vec![Vec::new(); priced.len()];
        let mut extrapolated = false;
        for (page_bytes, falsely_shared) in sizes.iter().zip(shared) {
            let (accesses, told) = known.on(nodes, *page_bytes)?;
            extrapolated |= told;
            for ((_, priced), rows) in priced.iter().zip(&mut rows) {
                let outcome = priced.replay(&accesses, nodes, plan.homes.0)?;
                rows.push(Row::new(*page_bytes, falsely_shared, &outcome, known));
            }
        }
        for ((protocol, priced), rows) in priced.iter().zip(rows) {
            tables.push(Table::new(nodes, *protocol, priced, extrapolated, rows));
        }
    }
    if tables.is_empty() {
        return Err(Failure::new(
            "nodes share nothing with one alone: record on two or more, and ask for two or more",
        ));
    }
    let (_, first) = &priced[0];
    let answer = Answer {
        accesses: plan.accesses.clone(),
        recorded_bytes: recorded,
        scaled: plan.sequential.is_some(),
        alone_s: known.alone_ns() as f64 * 1e-9,
        plain: plan.dsm_plain,
        homes: plan.homes.to_string(),
        network: Network {
            latency_us: first.net.latency_us(),
            bandwidth_mb_per_s: first.net.mb_per_s(),
        },
        tables,
    };
    console.result("fathomp.granularity", &answer, || {
        answer.text(console.width())
    })?;
    Ok(0)
}

/// Pages of each size that are falsely shared, where that is known: not of the smallest, inside
/// which nothing was recorded, and not if what is accessed is told from fewer nodes.
fn falsely_shared(known: &Known, nodes: u16, recorded: u32, sizes: &[u32]) -> Vec<Option<u64>> {
    let Some(accesses) = known.recorded(nodes) else {
        return vec![None; sizes.len()];
    };
    let parts: Vec<u32> = sizes
        .iter()
        .map(|size| size / accesses.page_bytes)
        .collect();
    let shared = shared_pages(accesses, nodes, &parts).into_iter();
    let is_known = |size: &u32| *size > recorded;
    shared
        .zip(sizes)
        .map(|(shared, size)| is_known(size).then_some(shared.falsely))
        .collect()
}

/// What is told.
#[derive(Serialize)]
struct Answer {
    accesses: Vec<PathBuf>,
    /// The smallest pages that something is known of.
    recorded_bytes: u32,
    /// Application times are scaled to a sequential program's.
    scaled: bool,
    /// Application time of all threads: what one thread alone would take.
    alone_s: f64,
    plain: bool,
    homes: String,
    network: Network,
    tables: Vec<Table>,
}

/// A number of nodes and a protocol.
#[derive(Serialize)]
struct Table {
    nodes: u16,
    protocol: &'static str,
    prices: PricesOf,
    /// What so many nodes access was not recorded but told from fewer.
    extrapolated: bool,
    /// The smallest size with the least time; none if all sizes take as long.
    best_bytes: Option<u32>,
    /// All sizes with the least time.
    #[serde(skip)]
    best: Vec<u32>,
    rows: Vec<Row>,
}

/// A size of pages.
#[derive(Clone, Serialize)]
struct Row {
    page_bytes: u32,
    /// That came whole.
    pages_fetched: u64,
    /// Changes of pages that were put in.
    diffs_applied: u64,
    bytes_sent: u64,
    messages: u64,
    /// Accesses that trap: to copies that are not there, and first writes.
    faults: u64,
    /// Pages that several nodes access from one barrier to the next, of which one writes, but
    /// nobody what another accesses; null if that is not known.
    falsely_shared: Option<u64>,
    time_s: f64,
    /// Against one thread alone.
    speedup: f64,
}

impl Row {
    fn new(
        page_bytes: u32,
        falsely_shared: Option<u64>,
        outcome: &fathomp_trace_replay::Outcome,
        known: &Known,
    ) -> Self {
        let all = Node::from(&outcome.all());
        let counts = &all.counts;
        Self {
            page_bytes,
            pages_fetched: counts.pages_fetched,
            diffs_applied: counts.diffs_applied,
            bytes_sent: counts.bytes_sent,
            messages: all.messages,
            faults: counts.write_faults_local + counts.write_faults_remote + counts.fetch_faults,
            falsely_shared,
            time_s: outcome.time_ns as f64 * 1e-9,
            speedup: known.alone_ns() as f64 / outcome.time_ns.max(1) as f64,
        }
    }
}

impl Table {
    fn new(
        nodes: u16,
        protocol: Protocol,
        priced: &Priced,
        extrapolated: bool,
        rows: Vec<Row>,
    ) -> Self {
        let best = best_of(rows.iter().map(|row| (row.page_bytes, row.time_s))).sizes;
        Self {
            nodes,
            protocol: protocol.name(),
            prices: priced.prices,
            extrapolated,
            best_bytes: best.first().copied(),
            best,
            rows,
        }
    }

    fn text(&self, width: usize) -> String {
        let mut grid = Grid::new("Page")
            .column("Fetched", 0)
            .column("Diffs", 0)
            .column("Sent", 0)
            .column("Messages", 1)
            .column("Faults", 0)
            .column("Shared falsely", 0)
            .column("Time", 0)
            .column("Speedup", 1);
        for row in &self.rows {
            let mark = if self.best.contains(&row.page_bytes) {
                " *"
            } else {
                ""
            };
            let falsely = row.falsely_shared;
            let cells = vec![
                short_count(row.pages_fetched),
                short_count(row.diffs_applied),
                bytes(row.bytes_sent),
                short_count(row.messages),
                short_count(row.faults),
                falsely.map_or_else(|| "–".to_owned(), short_count),
                duration(row.time_s * 1e9),
                format!("{:.2}", row.speedup),
            ];
            grid.row(format!("{}{mark}", bytes(row.page_bytes.into())), cells);
        }
        let told = if self.extrapolated {
            ", what they access told from fewer"
        } else {
            ""
        };
        format!(
            "{}, {} protocol{told}\n{}",
            plural(self.nodes.into(), "node"),
            self.protocol,
            grid.render(width)
        )
    }
}

impl Answer {
    fn text(&self, width: usize) -> String {
        let tables: Vec<String> = self.tables.iter().map(|table| table.text(width)).collect();
        let mut text = format!(
            "{} of application time; {} us, {} MB/s\n\n{}",
            duration(self.alone_s * 1e9),
            self.network.latency_us,
            self.network.bandwidth_mb_per_s,
            tables.join("\n")
        );
        text.push_str(
            "\n* The least time, where sizes differ. Times are calculated: a fault of any size costs what one of a page \
             of 4 KiB does, but for what is copied.\n\
             Shared falsely: pages in which nodes access different parts from one barrier to the \
             next, and one writes.\n",
        );
        if self.recorded_bytes < Accesses::PAGE_BYTES && !self.scaled {
            text.push_str(
                "Where lines are recorded, application times are many times too long: give \
                 --sequential SECONDS for the speedup.\n",
            );
        }
        if self.recorded_bytes > Accesses::LINE_BYTES {
            text.push_str(&format!(
                "What is smaller than {} was not recorded: `fathomp record --accesses --lines` does \
                 that.\n",
                bytes(self.recorded_bytes.into())
            ));
        }
        text
    }
}
