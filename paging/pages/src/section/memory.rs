//! How a program's time depends on its memory, and what recording it cost.

use crate::facts::MemoryCurve;
use fathomp_bench::intrusion::{Document, Percent, published_range_percent};
use fathomp_report::section::bound;
use fathomp_report::section::{Cell, Column, Row, Table};
use fathomp_report::section::{Chart, Mark, Plot, plot};
use fathomp_types::text::shorten;
use fathomp_types::units::{self, bytes, count, duration, ratio};
use serde::Serialize;

/// Rows of a table.
const ROWS_MAX: usize = 100;

/// The part about memory.
#[derive(Debug, Serialize)]
pub(crate) struct Memory {
    sentence: String,
    chart: Option<Chart>,
    table: Table,
}

/// The part about what recording cost.
#[derive(Debug, Serialize)]
pub(crate) struct Intrusion {
    note: String,
    warnings: Vec<String>,
    table: Table,
}

pub(super) fn build(curve: &MemoryCurve) -> Memory {
    Memory {
        sentence: bound(&shorten(&curve.sentence, 600)),
        chart: chart(curve),
        table: table(curve),
    }
}

fn chart(curve: &MemoryCurve) -> Option<Chart> {
    let marks: Vec<Mark> = curve
        .runs
        .iter()
        .filter_map(|run| {
            let (limit, slow) = (run.limit_bytes?, run.slow_down?);
            Some(Mark {
                x: limit as f64,
                y: slow,
                low: slow,
                high: slow,
                title: format!("{} with {}", ratio(slow), bytes(limit)),
            })
        })
        .collect();
    if marks.len() < 2 {
        return None;
    }
    let killed: Vec<u64> = curve
        .runs
        .iter()
        .filter(|run| run.is_killed)
        .filter_map(|run| run.limit_bytes)
        .collect();
    let uprights: Vec<(f64, String)> = killed
        .iter()
        .map(|limit| (*limit as f64, "killed".to_owned()))
        .collect();
    // They have no time, but a place on the axis.
    let killed = killed.into_iter().map(|limit| Mark {
        x: limit as f64,
        y: 0.0,
        low: 0.0,
        high: 0.0,
        title: format!("killed with {}", bytes(limit)),
    });
    Some(plot(&Plot {
        label: "Time over memory, relative to the time without a limit".to_owned(),
        x_title: "memory limit".to_owned(),
        y_title: "times as long".to_owned(),
        y_logarithmic: false,
        x_label: |value| bytes(value.max(0.0) as u64),
        right: None,
        curves: vec![("s1", marks), ("s6", killed.collect())],
        uprights: &uprights,
    }))
}

/// A word in the place of a number.
fn word(text: &str) -> Cell {
    Cell {
        class: "num",
        ..Cell::words(text)
    }
}

fn table(curve: &MemoryCurve) -> Table {
    let rows = curve.runs.iter().take(ROWS_MAX).map(|run| Row {
        id: String::new(),
        cells: vec![
            run.limit_bytes.map_or_else(
                || word("no limit"),
                |limit| Cell::number(limit as f64, bytes(limit)),
            ),
            Cell::number(run.wall_ns as f64, duration(run.wall_ns as f64)),
            if run.is_killed {
                word("killed")
            } else {
                run.slow_down
                    .map_or_else(Cell::nothing, |slow| Cell::number(slow, ratio(slow)))
            },
            run.major_faults.map_or_else(Cell::nothing, |faults| {
                Cell::number(faults as f64, count(faults))
            }),
            Cell::number(run.page_ins as f64, count(run.page_ins)),
            run.peak_bytes
                .map_or_else(Cell::nothing, |peak| Cell::number(peak as f64, bytes(peak))),
        ],
    });
    Table {
        id: "memory-table".to_owned(),
        caption: String::new(),
        columns: vec![
            Column::number("Memory", "What the program might use"),
            Column::number("Time", ""),
            Column::number("Times as long", "As without a limit"),
            Column::number("Major faults", "Page faults that waited for I/O"),
            Column::number("Page-ins", "Pages of 4 KiB that were read for it"),
            Column::number("Used", "Most memory that it used at any time"),
        ],
        rows: rows.collect(),
        sortable: false,
    }
}

/// What recording cost, beside what it cost the published library.
pub(super) fn intrusion(document: Option<&Document>) -> Option<Intrusion> {
    let document = document.filter(|one| !one.rows.is_empty())?;
    let more = |percent: &Percent| {
        let interval = percent
            .interval
            .as_ref()
            .map_or_else(String::new, |interval| {
                let ends = [interval.low, interval.high].map(|end| units::signed(end / 100.0));
                format!(" ({} to {})", ends[0], ends[1])
            });
        let text = format!("{}{interval}", units::signed(percent.value / 100.0));
        Cell::number(percent.value, text)
    };
    let seconds = |seconds: f64| Cell::number(seconds, duration(seconds * 1e9));
    let rows = document.rows.iter().take(ROWS_MAX).map(|row| Row {
        id: String::new(),
        cells: vec![
            Cell::name(shorten(&row.writer, 60)),
            seconds(row.seconds_without),
            seconds(row.seconds_with),
            more(&row.intrusion),
            Cell::number(
                row.trace_bytes_per_node as f64,
                bytes(row.trace_bytes_per_node),
            ),
            Cell::number(row.lost as f64, count(row.lost)),
        ],
    });
    let warnings = document.warnings.iter().chain(&document.skipped);
    Some(Intrusion {
        note: published_range_percent(&document.published)
            .map(|(least, most)| {
                bound(&format!(
                    "The published library cost its programs {} to {} of their time.",
                    units::percent(least / 100.0),
                    units::percent(most / 100.0)
                ))
            })
            .unwrap_or_default(),
        warnings: warnings.map(|one| bound(&shorten(one, 600))).collect(),
        table: Table {
            id: "intrusion-table".to_owned(),
            caption: String::new(),
            columns: vec![
                Column::text("Writer", "How records got to the disk"),
                Column::number("Without", "Median time without recording"),
                Column::number("With", "Median time with recording"),
                Column::number(
                    "More",
                    "With the interval that holds the median in 95 of 100 cases",
                ),
                Column::number("Recorded", "Bytes of the recording per node"),
                Column::number(
                    "Lost",
                    "Changes of state that are missing, the most in any run",
                ),
            ],
            rows: rows.collect(),
            sortable: false,
        },
    })
}
