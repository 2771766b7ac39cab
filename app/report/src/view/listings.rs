//! Plain tables: loops, waits, counters.

use super::table::{Cell, Column, Row, Table};
use super::{regions, words};
use crate::units;
use fathomp_analysis::{Analysis, Counts, LoopKind, LoopRow};

/// Rows beyond this are left to the exports.
const ROWS_MAX: usize = 200;

/// Worksharing loops, if any were seen.
pub(crate) fn loops(analysis: &Analysis) -> Option<Table> {
    if analysis.loops.is_empty() {
        return None;
    }
    let rows = analysis.loops.iter().take(ROWS_MAX).map(|one| Row {
        id: String::new(),
        cells: vec![
            Cell::name(words::shorten(&one.name, regions::NAME_CHARS))
                .hint(words::shorten(&one.place.label, 300)),
            Cell::words(schedule(one)),
            Cell::number(one.time_ns as f64, units::duration(one.time_ns as f64)),
            Cell::number(one.iterations as f64, units::count(one.iterations)),
            Cell::number(one.chunks as f64, units::count(one.chunks)),
            balance(one, |share| share.iterations),
            balance(one, |share| share.chunks),
            Cell::number(one.load_balance, units::percent(one.load_balance)),
        ],
    });
    Some(Table {
        id: "loop-table".to_owned(),
        caption: "Loops the compiler hands to the runtime. A compiler may divide a static loop itself; such loops are part of their region.".to_owned(),
        columns: vec![
            Column::text("Loop", "Where it is in the source"),
            Column::text("Schedule", "How iterations are dealt, and the chunk size asked for"),
            Column::number("Time", "Time of all threads in the loop, without waiting at its end"),
            Column::number("Iterations", "Iterations run"),
            Column::number("Chunks", "Chunks handed out"),
            Column::number("Iterations a thread", "Fewest and most iterations of a thread"),
            Column::number("Chunks a thread", "Fewest and most chunks of a thread"),
            Column::number("Balance", "Mean over longest time of its threads"),
        ],
        rows: rows.collect(),
        sortable: true,
    })
}

/// How iterations are dealt: "dynamic, 16".
pub(crate) fn schedule(one: &LoopRow) -> String {
    let mut text = words::loop_kind(one.kind).to_owned();
    if one.chunk_max > 0 && one.kind != LoopKind::Sections {
        if one.chunk_min == one.chunk_max {
            text.push_str(&format!(", {}", one.chunk_max));
        } else {
            text.push_str(&format!(", {} to {}", one.chunk_min, one.chunk_max));
        }
    }
    if one.ordered {
        text.push_str(", ordered");
    }
    text
}

fn balance(one: &LoopRow, of: impl Fn(&fathomp_analysis::LoopShareRow) -> u64) -> Cell {
    let least = one.threads.iter().map(&of).min();
    let most = one.threads.iter().map(&of).max();
    match (least, most) {
        (Some(least), Some(most)) if most > 0 => Cell::number(
            least as f64 / most as f64,
            if least == most {
                units::count(most)
            } else {
                format!("{} to {}", units::count(least), units::count(most))
            },
        ),
        _ => Cell::nothing(),
    }
}

/// Places where threads waited long, if any.
pub(crate) fn waits(analysis: &Analysis) -> Option<Table> {
    if analysis.waits.is_empty() {
        return None;
    }
    let rows = analysis.waits.iter().take(ROWS_MAX).map(|one| {
        let name = if one.name.is_empty() {
            "unknown place"
        } else {
            &one.name
        };
        Row {
            id: String::new(),
            cells: vec![
                Cell::name(words::shorten(name, regions::NAME_CHARS))
                    .hint(words::shorten(&one.place.label, 300)),
                Cell::words(words::state(one.state)),
                Cell::number(one.count as f64, units::count(one.count)),
                Cell::number(one.time_ns as f64, units::duration(one.time_ns as f64)),
                Cell::number(one.max_ns as f64, units::duration(one.max_ns as f64)),
            ],
        }
    });
    Some(Table {
        id: "wait-table".to_owned(),
        caption: "Waits long enough to be recorded one by one.".to_owned(),
        columns: vec![
            Column::text("Place", "The construct where threads waited"),
            Column::text("Waiting for", "What for"),
            Column::number("Waits", "How often"),
            Column::number("Time", "Time of all threads"),
            Column::number("Longest", "The longest wait"),
        ],
        rows: rows.collect(),
        sortable: true,
    })
}

/// Calls of MPI by function and place, if there were any.
pub(crate) fn mpi(analysis: &Analysis) -> Option<Table> {
    let facts = analysis.mpi.as_ref()?;
    let wall = (analysis.wall_ns as f64).max(1.0);
    let at_least = |number: String| crate::text::at_least(facts.complete, number);
    let rows = facts.calls.iter().take(ROWS_MAX).map(|one| {
        let (ns, count) = (one.time_ns as f64, one.count as f64);
        let size = match one.sized == one.count {
            true => Cell::number(one.bytes as f64, at_least(units::bytes(one.bytes))),
            false => Cell::nothing(),
        };
        Row {
            id: String::new(),
            cells: vec![
                Cell::name(one.function.clone()),
                Cell::words(words::shorten(&one.name, regions::NAME_CHARS))
                    .hint(words::shorten(&one.place.label, 300)),
                Cell::number(count, at_least(units::count(one.count))),
                Cell::number(ns, units::duration(ns)),
                Cell::number(ns / wall, units::percent(ns / wall)),
                Cell::number(ns / count.max(1.0), units::duration(ns / count.max(1.0))),
                Cell::number(one.max_ns as f64, units::duration(one.max_ns as f64)),
                size,
            ],
        }
    });
    Some(Table {
        id: "mpi-table".to_owned(),
        caption: "Calls of MPI that move data or may wait, of this rank.".to_owned(),
        columns: vec![
            Column::text("Function", "Its name in C"),
            Column::text("Place", "Where the program calls it"),
            Column::number("Calls", "How often"),
            Column::number("Time", "Time of all threads"),
            Column::number("Share", "Of the wall time"),
            Column::number("Mean", "Of a call"),
            Column::number("Longest", "The longest call"),
            Column::number(
                "Bytes",
                "Sent in all, or room for them where calls only receive",
            ),
        ],
        rows: rows.collect(),
        sortable: true,
    })
}

/// Counters per region.
pub(crate) fn counters(analysis: &Analysis) -> Option<Table> {
    if analysis.regions.is_empty() {
        return None;
    }
    let hardware = analysis.counts.cycles.is_some();
    let mut columns = vec![
        Column::text("Region", "Where it is in the source"),
        Column::number("Minor faults", "Page faults served without input or output"),
        Column::number("Major faults", "Page faults that waited for input"),
        Column::number("Faults / s", "Page faults per second of its threads' time"),
        Column::number(
            "Waiting switches",
            "Context switches because a thread waited",
        ),
        Column::number(
            "Preemptions",
            "Context switches because a thread was preempted",
        ),
    ];
    if hardware {
        columns.push(Column::number("Cycles", "Processor cycles in user mode"));
        columns.push(Column::number("Instructions", "Instructions in user mode"));
        columns.push(Column::number("IPC", "Instructions per cycle"));
    }
    let rows = analysis.regions.iter().take(ROWS_MAX).map(|region| Row {
        id: String::new(),
        cells: counter_cells(
            regions::name(region),
            &region.counts,
            region.states.total_ns(),
            hardware,
        ),
    });
    let mut rows: Vec<Row> = rows.collect();
    let total_ns = analysis.states.total_ns();
    rows.push(Row {
        id: String::new(),
        cells: counter_cells("all".to_owned(), &analysis.counts, total_ns, hardware),
    });
    Some(Table {
        id: "counter-table".to_owned(),
        caption: "One reading may cover several short regions; its counts are then shared out in proportion to time."
            .to_owned(),
        columns,
        rows,
        sortable: true,
    })
}

fn counter_cells(name: String, counts: &Counts, time_ns: u64, hardware: bool) -> Vec<Cell> {
    let number = |value: f64| Cell::number(value, units::count(value.max(0.0).round() as u64));
    let faults = counts.minor_faults + counts.major_faults;
    let rate = faults / (time_ns.max(1) as f64 * 1e-9);
    let mut cells = vec![
        Cell::name(name),
        number(counts.minor_faults),
        number(counts.major_faults),
        number(rate),
        number(counts.voluntary_switches),
        number(counts.involuntary_switches),
    ];
    if hardware {
        let optional = |value: Option<f64>| {
            value.map_or_else(Cell::nothing, |value| {
                Cell::number(value, units::short_count(value.max(0.0).round() as u64))
            })
        };
        cells.push(optional(counts.cycles));
        cells.push(optional(counts.instructions));
        cells.push(match (counts.instructions, counts.cycles) {
            (Some(instructions), Some(cycles)) if cycles > 0.0 => {
                let ipc = instructions / cycles;
                Cell::number(ipc, units::ratio(ipc))
            }
            _ => Cell::nothing(),
        });
    }
    cells
}
