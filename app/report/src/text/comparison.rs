//! A comparison on a terminal.

use super::{Grid, printable, readable, wrapped};
use crate::compare::{Comparison, Judged, Table, Verdict};
use crate::side_by_side::ratio_words;
use crate::units;

/// Regions that are listed; of the others it is said how many there are.
const REGIONS_MAX: usize = 12;
/// Letters of a value of the environment.
const VALUE_LETTERS: usize = 60;

/// What became of the program first, then why, in at most `width` columns.
#[must_use]
pub fn comparison(comparison: &Comparison, width: usize) -> String {
    let mut text = String::new();
    let sentence = |text: &mut String, sentence: &str, indent: &str| {
        text.push_str(&wrapped(&printable(sentence), readable(width), indent));
    };
    for line in &comparison.summary {
        sentence(&mut text, line, "");
    }
    for doubt in &comparison.doubts {
        sentence(&mut text, &format!("warning: {doubt}"), "  ");
    }
    for (number, table) in comparison.tables.iter().enumerate() {
        text.push('\n');
        // Of other numbers of threads the page and JSON have the regions.
        text.push_str(&times(comparison, table, number == 0).render(width));
        let left = table.regions.len().saturating_sub(REGIONS_MAX);
        if number == 0 && left > 0 {
            let more = units::plural(left as u64, "region");
            sentence(
                &mut text,
                &format!("{more} that differ less: see --json, or -o FILE."),
                "",
            );
        }
    }
    text.push('\n');
    if comparison.causes.is_empty() {
        sentence(&mut text, comparison.no_causes(), "");
    } else {
        text.push_str(&causes(comparison).render(width));
    }
    text.push('\n');
    if comparison.facts.is_empty() {
        sentence(
            &mut text,
            "Program, machine and environment are the same.",
            "",
        );
    } else {
        text.push_str(&facts(comparison).render(width));
    }
    text
}

fn times(comparison: &Comparison, table: &Table, regions: bool) -> Grid {
    let mut grid = Grid::new(format!("With {}", table.setting.words())).whole_names();
    for (side, name) in comparison.sides.iter().enumerate() {
        grid = grid.column(printable(name), 0);
        if side > 0 {
            grid = grid.words("ratio", 0);
        }
    }
    let shown = match regions {
        true => table.regions.len().min(REGIONS_MAX),
        false => 0,
    };
    for row in [&table.program].into_iter().chain(&table.regions[..shown]) {
        let sides = row.row.columns.iter().enumerate();
        let cells = sides.flat_map(|(side, column)| {
            let time = column
                .as_ref()
                .map(|column| units::duration(column.time_ns));
            let time = time.unwrap_or_else(|| units::NOTHING.to_owned());
            let ratio = (side > 0).then(|| ratio(row, side));
            [Some(time), ratio].into_iter().flatten()
        });
        grid.row(printable(&name(row)), cells.collect());
    }
    grid
}

/// What a row is called, and on the first side, where that is something else.
fn name(row: &Judged) -> String {
    let first = row.names.iter().position(|names| !names.is_empty());
    let before = first.and_then(|side| row.name_on(side));
    let latest = row.names.iter().rposition(|names| !names.is_empty());
    let after = latest.and_then(|side| row.name_on(side));
    match (before, after) {
        (Some(before), Some(after)) if before == after => format!("{} ({after})", row.row.name),
        (Some(before), None) => format!("{} (was {before})", row.row.name),
        (Some(before), Some(after)) => format!("{} ({before}, now {after})", row.row.name),
        _ => row.row.name.clone(),
    }
}

/// `0.82 (0.79 to 0.85) faster`.
fn ratio(row: &Judged, side: usize) -> String {
    let ratio = row.row.columns[side]
        .as_ref()
        .and_then(|column| column.ratio);
    let verdict = row.verdicts.get(side).copied().flatten();
    match (ratio, verdict) {
        (None, Some(Verdict::New | Verdict::Gone)) | (Some(_), _) => {
            let numbers = ratio.map(|ratio| ratio_words(&ratio));
            let words = verdict.map(|verdict| verdict.words().to_owned());
            numbers
                .into_iter()
                .chain(words)
                .collect::<Vec<_>>()
                .join(" ")
        }
        _ => units::NOTHING.to_owned(),
    }
}

fn causes(comparison: &Comparison) -> Grid {
    let mut grid = Grid::new("Cause (part of the time)").whole_names();
    for (side, name) in comparison.sides.iter().enumerate() {
        grid = grid.column(printable(name), 0);
        if side > 0 {
            grid = grid.words("", 0);
        }
    }
    for cause in &comparison.causes {
        let cells = cause.shares.iter().zip(&cause.changes).enumerate();
        let cells = cells.flat_map(|(side, (share, change))| {
            let share = share.map_or_else(|| units::NOTHING.to_owned(), units::percent);
            let change = change.map_or(String::new(), |change| change.words().to_owned());
            [Some(share), (side > 0).then_some(change)]
                .into_iter()
                .flatten()
        });
        grid.row(printable(&cause.words()), cells.collect());
    }
    grid
}

fn facts(comparison: &Comparison) -> Grid {
    let mut grid = Grid::new("What differs");
    for name in &comparison.sides {
        grid = grid.words(printable(name), 0);
    }
    for fact in &comparison.facts {
        let value = |value: &Option<String>| {
            let text = value.clone().unwrap_or_else(|| fact.nothing());
            super::fit(&printable(&text), VALUE_LETTERS)
        };
        grid.row(
            printable(&fact.name),
            fact.values.iter().map(value).collect(),
        );
    }
    grid
}
