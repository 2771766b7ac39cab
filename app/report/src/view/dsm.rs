//! What sharing memory between nodes cost, per region and per thread.

use super::colours::LegendEntry;
use super::regions;
use super::table::{Cell, Column, Row, Table};
use crate::chart::{Chart, Segment, Stack, strips};
use crate::units;
use fathomp_analysis::{Analysis, Dsm, State, ThreadRow, Times};
use serde::Serialize;

/// Rows beyond this are left to the exports.
const ROWS_MAX: usize = 200;
/// Threads drawn at most: the first ones.
const THREADS_MAX: usize = 128;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Sharing {
    note: String,
    table: Table,
    legend: Vec<LegendEntry>,
    threads: Chart,
    caption: String,
}

/// The section, for a recording of several nodes.
pub(crate) fn build(analysis: &Analysis) -> Option<Sharing> {
    let all = analysis.dsm.as_ref()?;
    let nodes = nodes(analysis);
    let drawn = &analysis.threads_seen[..analysis.threads_seen.len().min(THREADS_MAX)];
    let stacks: Vec<Stack> = drawn.iter().map(stack).collect();
    Some(Sharing {
        note: format!(
            "The program ran on {} that shared no memory. All its threads together had {}, fetched {} and sent {} to pages' homes.",
            units::plural(nodes, "node"),
            units::plural(all.faults(), "fault"),
            units::plural(all.pages_fetched, "page"),
            units::plural(all.diffs_sent, "diff"),
        ),
        table: table(analysis),
        legend: PARTS
            .map(|part| LegendEntry {
                class: part.class,
                name: part.name,
            })
            .into(),
        threads: strips(
            "Time per thread in computing, faults, locks and barriers".to_owned(),
            &stacks,
        ),
        caption: "Time of each thread over its life, as node:thread.".to_owned(),
    })
}

fn nodes(analysis: &Analysis) -> u64 {
    let last = analysis.threads_seen.iter().map(|thread| thread.node).max();
    u64::from(last.unwrap_or(0)) + 1
}

/// A part of a thread's bar.
struct Part {
    class: &'static str,
    name: &'static str,
    states: &'static [State],
}

const PARTS: [Part; 5] = [
    Part {
        class: "compute",
        name: "computing",
        states: &[State::Compute],
    },
    Part {
        class: "communication",
        name: "faults",
        states: &[State::Communication],
    },
    Part {
        class: "lock",
        name: "locks and turns",
        states: &[State::Critical, State::Lock, State::Ordered],
    },
    Part {
        class: "implicit_barrier",
        name: "barriers",
        states: &[
            State::ImplicitBarrier,
            State::ExplicitBarrier,
            State::TaskWait,
        ],
    },
    Part {
        class: "idle",
        name: "runtime and idle",
        states: &[State::Overhead, State::Idle, State::Io],
    },
];

fn stack(thread: &ThreadRow) -> Stack {
    let time = |times: &Times, states: &[State]| -> f64 {
        states.iter().map(|state| times[*state] as f64).sum()
    };
    Stack {
        name: format!("{}:{}", thread.node, thread.thread),
        segments: PARTS
            .iter()
            .map(|part| Segment {
                class: part.class.to_owned(),
                name: part.name.to_owned(),
                ns: time(&thread.states, part.states),
            })
            .collect(),
    }
}

fn table(analysis: &Analysis) -> Table {
    let mut rows = Vec::new();
    for region in analysis.regions.iter().take(ROWS_MAX) {
        let Some(dsm) = &region.dsm else { continue };
        rows.push(row(regions::name(region), "all", &dsm.all));
        rows.push(row(
            regions::name(region),
            "slowest each time",
            &dsm.critical,
        ));
        if dsm.nodes.len() > 1 {
            for (node, dsm) in &dsm.nodes {
                rows.push(row(regions::name(region), &format!("node {node}"), dsm));
            }
        }
    }
    Table {
        id: "dsm-table".to_owned(),
        caption:
            "Slowest each time: of each execution, the thread with the most faults and diffs. (The published critical path is the largest sum of a thread.)"
                .to_owned(),
        columns: vec![
            Column::text("Region", "Where it is in the source"),
            Column::text("Of", "Whose sum it is"),
            Column::number(
                "Local writes",
                "Write faults at pages whose home is the thread's node",
            ),
            Column::number(
                "Copy writes",
                "Write faults at copies of other nodes' pages; each makes a twin",
            ),
            Column::number("Fetches", "Faults that waited for a page's content"),
            Column::number("Pages", "Pages fetched, those in advance included"),
            Column::number("Diffs", "Diffs sent home"),
            Column::number(
                "Invalidations",
                "Copies that others' write notices made invalid",
            ),
            Column::number("Locks", "Locks and atomics between nodes"),
            Column::number("Flushes", "Flushes"),
            Column::number("Barriers", "Barriers of the nodes"),
            Column::number("Sent", "Bytes sent to other nodes"),
            Column::number("In faults", "Time in faults"),
            Column::number("In locks", "Time in locks"),
            Column::number("In flushes", "Time in flushes"),
            Column::number("In barriers", "Time in barriers of the nodes"),
        ],
        rows,
        sortable: true,
    }
}

fn row(region: String, of: &str, dsm: &Dsm) -> Row {
    let count = |value: u64| Cell::number(value as f64, units::count(value));
    let time = |ns: u64| Cell::number(ns as f64, units::duration(ns as f64));
    Row {
        id: String::new(),
        cells: vec![
            Cell::name(region),
            Cell::words(of),
            count(dsm.write_faults_local),
            count(dsm.write_faults_remote),
            count(dsm.fetch_faults),
            count(dsm.pages_fetched),
            count(dsm.diffs_sent),
            count(dsm.invalidations),
            count(dsm.locks),
            count(dsm.flushes),
            count(dsm.barriers),
            Cell::number(dsm.bytes_sent as f64, units::bytes(dsm.bytes_sent)),
            time(dsm.fault_ns),
            time(dsm.lock_ns),
            time(dsm.flush_ns),
            time(dsm.barrier_ns),
        ],
    }
}
