//! The result as text for a terminal.

use super::{Bound, Document, Row};
use fathomp_tables::Grid;
use fathomp_types::text::NO_TERMINAL;
use std::fmt::Write as _;

/// One table for each group, and what makes it doubtful.
#[must_use]
pub fn table(document: &Document) -> String {
    let mut out = String::new();
    let machine = &document.machine;
    let load = machine
        .load_one_minute
        .map_or_else(String::new, |load| format!(", load {load:.1}"));
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "dsm: {}, {} usable processors, Linux {}{load}; {} samples in each of {} runs",
        machine.processor,
        machine.processors,
        machine.kernel,
        document.extent.rounds,
        document.extent.runs,
    );
    let mut rows = document.rows.as_slice();
    while let Some(first) = rows.first() {
        let same = rows.iter().take_while(|row| row.group == first.group);
        let (group, rest) = rows.split_at(same.count());
        rows = rest;
        let titles = [
            "ours (quiet)",
            "floor (quiet)",
            "ratio",
            "95 %",
            "quiet",
            "at most",
        ];
        let grid = Grid::new(&first.group);
        let mut grid = titles
            .into_iter()
            .fold(grid, |grid, title| grid.column(title, 0));
        grid = grid.words("within", 0);
        for row in group {
            grid.row(&row.name, cells(row));
        }
        let _ = write!(out, "\n{}", grid.render(NO_TERMINAL));
    }
    if !document.skipped.is_empty() {
        let _ = writeln!(out, "\nSkipped:");
        for what in &document.skipped {
            let _ = writeln!(out, "  {what}");
        }
    }
    if document.rows.iter().any(|row| row.clear == Some(false)) {
        let _ = writeln!(
            out,
            "\nyes? and no?: the 95 % interval lies on both sides of the bound."
        );
    }
    for warning in &document.warnings {
        let _ = writeln!(out, "\n{warning}");
    }
    out
}

fn cells(row: &Row) -> Vec<String> {
    let side = |median: f64, quiet: f64| {
        let unit = row.unit.name();
        format!("{} ({}) {unit}", number(median), number(quiet))
    };
    let ours = side(row.ours.median.value, row.ours.quiet);
    let floor = row.floor.as_ref();
    let floor = floor.map_or_else(dash, |floor| side(floor.median.value, floor.quiet));
    let ratio = row.ratio.map_or_else(dash, |ratio| number(ratio.value));
    let interval = row.ratio.map_or_else(dash, |ratio| {
        format!("{}-{}", number(ratio.low), number(ratio.high))
    });
    let bound = row.bound.map_or_else(dash, |bound| match bound {
        Bound::Ratio(most) => format!("{most} x"),
        Bound::Value(most) => format!("{} {}", number(most), row.unit.name()),
    });
    let within = row.met.map_or_else(dash, |met| {
        let doubt = if row.clear == Some(false) { "?" } else { "" };
        format!("{}{doubt}", if met { "yes" } else { "no" })
    });
    let quiet = row.quiet_ratio.map_or_else(dash, number);
    vec![ours, floor, ratio, interval, quiet, bound, within]
}

fn dash() -> String {
    "-".to_owned()
}

/// Three digits that mean something.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::{Unit, row};
    use super::*;
    use crate::floors::Extent;
    use crate::machine::Machine;

    #[test]
    fn a_table_says_what_is_within_its_bound() {
        let mut machine = Machine::read();
        machine.load_one_minute = None;
        let extent = Extent {
            runs: 2,
            rounds: 3,
            pages: 4,
            array_mib: 5,
        };
        let mut document = Document::new(machine, extent);
        let samples = |value: f64| vec![vec![value; 3]; 2];
        let of = |name: &str, ours: f64, bound| {
            let floor = Some(samples(2.0));
            row(
                "mprotect",
                name.to_owned(),
                Unit::Us,
                samples(ours),
                floor,
                |_| bound,
            )
        };
        document
            .rows
            .extend(of("cheap", 2.5, Some(Bound::Ratio(1.5))));
        document
            .rows
            .extend(of("dear", 12.0, Some(Bound::Value(5.0))));
        document.rows.extend(of("free", 12.0, None));
        document.skipped.push("userfault: no".to_owned());
        let text = table(&document);
        let found = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(found("cheap").contains("1.5 x") && found("cheap").ends_with("yes"));
        assert!(found("dear").contains("5.00 us") && found("dear").ends_with("no"));
        assert!(found("free").ends_with('-'));
        assert!(text.contains("  userfault: no"));
        assert!(!document.is_met());
    }
}
