//! Which cache lines threads share.

use super::table::{Cell, Column, Row, Table};
use super::{regions, words};
use crate::units;
use fathomp_shared_lines::{Findings, Kind, SharedLine, Site};
use serde::Serialize;

/// Rows beyond this are left to the exports.
const ROWS_MAX: usize = 200;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Shared {
    note: String,
    warnings: Vec<String>,
    table: Option<Table>,
    atomics: Option<Table>,
}

/// The section, if it was looked for.
pub(crate) fn build(findings: Option<&Findings>) -> Option<Shared> {
    let findings = findings?;
    let nothing = match findings.lines.is_empty() {
        true => " No cache line was seen to be shared.",
        false => "",
    };
    Some(Shared {
        note: format!(
            "From a run on {} with a thread each, which share no memory, so that writes are known by the byte; {} between barriers. Reads are known as far as they were the first to a page. Numbers of accesses, and costs, are lower bounds.{nothing}",
            units::plural(findings.threads.into(), "node"),
            units::plural(findings.phases, "phase"),
        ),
        warnings: findings
            .notes
            .iter()
            .map(|note| words::bound(note))
            .collect(),
        table: table(findings),
        atomics: atomics(findings),
    })
}

fn kind(line: &SharedLine) -> &'static str {
    match (line.kind, line.boundary) {
        (Kind::False, true) => "false, where blocks meet",
        (Kind::False, false) => "false",
        (Kind::True, _) => "true",
        (Kind::ReadMostly, _) => "only read",
    }
}

fn place(site: Option<&Site>) -> Cell {
    site.map_or_else(Cell::nothing, |site| {
        let short = site.label.split(" (").next().unwrap_or(&site.label);
        Cell::words(words::shorten(short, regions::NAME_CHARS))
            .hint(words::shorten(&site.label, 300))
    })
}

fn table(findings: &Findings) -> Option<Table> {
    if findings.lines.is_empty() {
        return None;
    }
    let number = |value: u64| Cell::number(value as f64, units::count(value));
    let rows = findings.lines.iter().take(ROWS_MAX).map(|line| Row {
        id: String::new(),
        cells: vec![
            Cell::name(words::shorten(&line.name, regions::NAME_CHARS))
                .hint(words::shorten(&line.sentence, 400)),
            Cell::words(kind(line)),
            number(line.lines),
            number(line.phases),
            number((line.writers.len() + line.readers.len()) as u64),
            number(line.accesses),
            line.est_cost_ns
                .map_or_else(Cell::nothing, |ns| Cell::number(ns, units::duration(ns))),
            place(line.accesses_at.first()),
            place(line.regions.first()),
            Cell::words(words::shorten(&line.mend, 400)),
        ],
    });
    Some(Table {
        id: "sharing-table".to_owned(),
        caption: "False sharing first, then true sharing, then what is only read; each by cost."
            .to_owned(),
        columns: vec![
            Column::text("Variable", "The variables that lie in the lines"),
            Column::text(
                "Sharing",
                "False: different bytes of one line; true: the same bytes",
            ),
            Column::number("Lines", "Cache lines of 64 bytes"),
            Column::number(
                "Phases",
                "Stretches between two barriers in which a line is shared",
            ),
            Column::number("Threads", "Threads that write or read it"),
            Column::number("Accesses", "Accesses known of; there may be many more"),
            Column::number(
                "Cost",
                "What these accesses cost beyond those to lines of a thread's own, at least",
            ),
            Column::text("Accessed at", "Where most accesses were seen"),
            Column::text("Region", "The region with most of them"),
            Column::text("What mends it", "What to change"),
        ],
        rows: rows.collect(),
        sortable: true,
    })
}

fn atomics(findings: &Findings) -> Option<Table> {
    let all = findings.atomics.iter().flat_map(|region| {
        let instructions = region.instructions.iter();
        instructions.map(|one| (&region.region, one))
    });
    let rows: Vec<_> = all
        .take(ROWS_MAX)
        .map(|(region, one)| Row {
            id: String::new(),
            cells: vec![
                place(Some(region)),
                place(Some(&one.site)),
                Cell::words(words::shorten(&one.instruction, 40)),
                Cell::number(one.executed as f64, units::count(one.executed)),
            ],
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "sharing-atomics".to_owned(),
        caption: "Atomic instructions in the code of each region, and in functions that it called."
            .to_owned(),
        columns: vec![
            Column::text("Region", "The region"),
            Column::text("Place", "Where the instruction is in the source"),
            Column::text("Instruction", "What it is"),
            Column::number("Executed", "How often it was executed on all nodes"),
        ],
        rows,
        sortable: true,
    })
}
