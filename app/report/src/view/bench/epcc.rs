//! The table that EPCC's pages have: what directives cost, over any number of runs and machines.

use crate::units;
use crate::view::table::{Cell, Column, Row, Table};
use fathomp_bench::epcc::{EpccForm, EpccRow};
use fathomp_bench::summary::Summary;

/// From here on numbers are shown by their power of ten.
const TOO_LONG: f64 = 1e9;
const TITLES: [(&str, &str); 9] = [
    ("Overhead", "Mean time with the directive less that without"),
    ("+/-", "1.96 standard deviations of the time"),
    (
        "Time",
        "Mean time with the directive, of all samples of all runs",
    ),
    (
        "SD samples",
        "Standard deviation of all samples of all runs",
    ),
    ("SD runs", "Standard deviation of the runs' means"),
    ("Max SD", "Largest standard deviation of a run"),
    ("Min", "Smallest sample"),
    ("Max", "Largest sample"),
    (
        "Outliers",
        "Further than three standard deviations from the mean of their run",
    ),
];

/// The table; none without directives.
pub(super) fn table(summary: &Summary) -> Option<Table> {
    let mut rows: Vec<(&EpccRow, EpccForm)> = summary
        .epcc
        .iter()
        .filter_map(|row| Some((row, row.form()?)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    // The same directive of different programs stands together, in the order of the first.
    let names: Vec<String> = rows.iter().map(|(row, _)| row.plain_name()).collect();
    rows.sort_by_key(|(row, _)| {
        let name = row.plain_name();
        (names.iter().position(|known| *known == name), row.threads)
    });
    let mut columns = vec![
        Column::text("Directive", "As the programs call it"),
        Column::number("Threads", "Size of the team"),
        Column::text(
            "Measured by",
            "Compiler and runtime, or a file of other programs' output",
        ),
    ];
    columns.extend(TITLES.map(|(title, hint)| Column::number(title, hint)));
    columns.push(Column::number(
        "Runs",
        "Joined by their means and deviations",
    ));
    let row = |(row, form): (&EpccRow, EpccForm)| {
        // As EPCC's pages have them.
        let number = |value: f64| match value.abs() {
            size if size < TOO_LONG => Cell::number(value, format!("{value:.3}")),
            size if size.is_finite() => Cell::number(value, format!("{value:.2e}")),
            _ => Cell::nothing(),
        };
        let count = |value: usize| Cell::number(value as f64, units::count(value as u64));
        Row {
            id: String::new(),
            cells: vec![
                Cell::name(row.plain_name()),
                match row.threads {
                    // Not known of an output that does not say it.
                    0 => Cell::nothing(),
                    threads => Cell::number(threads.into(), threads.to_string()),
                },
                Cell::words(row.source.clone()),
                number(form.overhead),
                number(form.time_pm),
                number(form.time),
                number(form.sd_samples),
                form.sd_runs.map_or_else(Cell::nothing, number),
                number(form.max_sd),
                number(form.min),
                number(form.max),
                count(form.outliers),
                count(row.runs.len()),
            ],
        }
    };
    Some(Table {
        id: "epcc-form".to_owned(),
        caption: String::new(),
        columns,
        rows: rows.into_iter().map(row).collect(),
        sortable: true,
    })
}
