//! The page about a comparison.

use super::side_by_side::{Entry, Sides, states};
use super::table::{Cell, Column, Row as TableRow, Table};
use crate::chart::Chart;
use crate::compare::{Comparison, Judged, Table as Times, Verdict};
use crate::side_by_side::Row;
use crate::units;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct ComparisonPage {
    title: String,
    summary: Vec<String>,
    doubts: Vec<String>,
    parts: Vec<Part>,
    no_causes: &'static str,
    causes: Option<Table>,
    facts: Option<Table>,
}

/// What there is to say of one number of threads.
#[derive(Debug, Serialize)]
struct Part {
    id: String,
    heading: String,
    sides: Vec<Entry>,
    ratios: Option<Chart>,
    caption: String,
    states: Vec<Entry>,
    regions: Table,
}

pub(crate) fn build(comparison: &Comparison) -> ComparisonPage {
    let (first, others) = match comparison.sides.split_first() {
        Some((first, others)) => (first.as_str(), others.join(", ")),
        None => ("", String::new()),
    };
    ComparisonPage {
        title: format!("{first} and {others}"),
        summary: comparison.summary.clone(),
        doubts: comparison.doubts.clone(),
        parts: comparison
            .tables
            .iter()
            .map(|table| part(comparison, table))
            .collect(),
        no_causes: comparison.no_causes(),
        causes: (!comparison.causes.is_empty()).then(|| causes(comparison)),
        facts: (!comparison.facts.is_empty()).then(|| facts(comparison)),
    }
}

fn part(comparison: &Comparison, table: &Times) -> Part {
    let judged: Vec<&Judged> = [&table.program].into_iter().chain(&table.regions).collect();
    let rows: Vec<&Row> = judged.iter().map(|one| &one.row).collect();
    let verdict = |row: usize, side: usize| {
        let found = judged[row].verdicts.get(side).copied().flatten();
        found.map_or(("", false), |verdict| {
            (verdict.words(), verdict == Verdict::Slower)
        })
    };
    let alias = |row: usize, side: usize| judged[row].name_on(side);
    let sides = Sides {
        names: comparison.sides.iter().map(String::as_str).collect(),
        title: "Side",
        rows: &rows,
        verdict: Some(&verdict),
        aliases: Some(&alias),
    };
    let setting = table.setting;
    let runs = comparison.sides.iter().zip(&table.runs);
    let runs = runs.map(|(name, runs)| format!("{} of {name}", units::plural(*runs as u64, "run")));
    Part {
        id: format!(
            "threads-{}-{}-{}",
            setting.ranks, setting.nodes, setting.threads
        ),
        heading: format!("With {}", setting.words()),
        sides: sides.entries(),
        ratios: sides.ratios(),
        caption: format!(
            "Time divided by that of {}: ratio of medians and 95 % interval, from {}. Left of the line at 1 it \
             is less. Rows whose times differ most come first.",
            comparison.sides.first().map_or("?", String::as_str),
            runs.collect::<Vec<_>>().join(" and ")
        ),
        states: states(),
        regions: sides.table(format!(
            "regions-{}-{}-{}",
            setting.ranks, setting.nodes, setting.threads
        )),
    }
}

fn causes(comparison: &Comparison) -> Table {
    let mut columns = vec![Column::text("Cause", "Why the program does not run faster")];
    for (side, name) in comparison.sides.iter().enumerate() {
        columns.push(Column::number(
            name,
            "Part of the program's time that it costs",
        ));
        if side > 0 {
            columns.push(Column::text(
                "Change",
                "Against the first; what differs by less than 3 % of the time is the same",
            ));
        }
    }
    let rows = comparison.causes.iter().map(|cause| {
        let mut cells = vec![Cell {
            text: cause.words(),
            ..Cell::default()
        }];
        for (side, (share, change)) in cause.shares.iter().zip(&cause.changes).enumerate() {
            cells.push(share.map_or_else(Cell::nothing, |share| {
                Cell::number(share, units::percent(share))
            }));
            if side > 0 {
                cells.push(Cell::words(change.map_or("", |change| change.words())));
            }
        }
        row(cells)
    });
    table("causes-table", columns, rows.collect())
}

fn facts(comparison: &Comparison) -> Table {
    let mut columns = vec![Column::text("What", "")];
    columns.extend(comparison.sides.iter().map(|name| Column::text(name, "")));
    let rows = comparison.facts.iter().map(|fact| {
        let value =
            |value: &Option<String>| Cell::words(value.clone().unwrap_or_else(|| fact.nothing()));
        let name = Cell {
            text: fact.name.clone(),
            ..Cell::default()
        };
        row([name]
            .into_iter()
            .chain(fact.values.iter().map(value))
            .collect())
    });
    table("facts-table", columns, rows.collect())
}

fn row(cells: Vec<Cell>) -> TableRow {
    TableRow {
        id: String::new(),
        cells,
    }
}

fn table(id: &str, columns: Vec<Column>, rows: Vec<TableRow>) -> Table {
    Table {
        id: id.to_owned(),
        caption: String::new(),
        columns,
        rows,
        sortable: false,
    }
}
