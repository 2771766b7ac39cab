//! Where page faults were: a map of time and addresses, and tables.

use super::zeros::Zeros;
use crate::facts::PagingFacts;
use fathomp_faults::{FaultCounts, FaultFacts, MappingKind, MappingRow};
use fathomp_report::section::bound;
use fathomp_report::section::{Cell, Column, MeterBar, Row, Table};
use fathomp_skyline::questions::pages::Advice;
use fathomp_types::text::shorten;
use fathomp_types::units::{self, count, duration, percent};
use serde::Serialize;

/// Rows of a table.
const ROWS_MAX: usize = 15;
/// Letters of a name.
const NAME_CHARS: usize = 60;
/// Rows and columns of a map at most.
const CELLS_MAX: usize = 80_000;

/// The part of the section.
#[derive(Debug, Serialize)]
pub(crate) struct Faults {
    sentences: Vec<String>,
    heat: bool,
    label: String,
    caption: String,
    legend: Vec<fathomp_report::section::LegendEntry>,
    lines: Option<Table>,
    variables: Option<Table>,
    mappings: Option<Table>,
    touches: Option<Table>,
}

/// A map of faults.
#[derive(Debug, Serialize)]
pub(super) struct HeatData {
    /// Begin and end, in moments of the section.
    span: [u64; 2],
    columns: u32,
    /// `[name, first row, rows]`, by place in the map.
    parts: Vec<(String, usize, usize)>,
    /// First and last address of each row.
    addresses: Vec<[String; 2]>,
    /// Faults, row by row.
    cells: Zeros,
}

/// Kinds of faults: class, name, how many, and what that means.
pub(crate) type Kind = (&'static str, &'static str, fn(&FaultCounts) -> u64);

/// The kinds, as they are shown.
pub(crate) const KINDS: [Kind; 5] = [
    ("s0", "first touch", |counts| counts.first_touch),
    ("s4", "repeated", |counts| counts.repeated),
    ("s3", "copy on write", |counts| counts.copy_on_write),
    ("s7", "refused", |counts| counts.refused),
    ("s1", "waited for I/O", |counts| counts.major),
];

/// The part about single faults, if they were recorded.
pub(super) fn build(paging: &PagingFacts) -> Option<Faults> {
    let facts = paging.faults.as_ref()?;
    let counted = |kind: &Kind| (kind.2)(&facts.counts) > 0;
    let table = |id: &str, title: &'static str, hint, rows: Vec<(String, String, FaultCounts)>| {
        table(id, title, hint, rows, facts.counts.total())
    };
    Some(Faults {
        sentences: sentences(facts)
            .iter()
            .map(String::as_str)
            .chain(paging.advice.iter().map(Advice::sentence))
            .map(bound)
            .collect(),
        heat: !facts.heat.rows.is_empty(),
        label: format!(
            "Page faults over time and addresses, {} in all",
            count(facts.counts.total())
        ),
        caption: "Each row is a part of a mapping, by address; the darker, the more faults. What lies between mappings is left out.".to_owned(),
        legend: KINDS
            .iter()
            .filter(|kind| counted(kind))
            .map(|(class, name, _)| fathomp_report::section::LegendEntry { class, name })
            .collect(),
        lines: table(
            "fault-lines",
            "Source line",
            "The line, or function, of the instruction that faulted",
            facts
                .lines
                .iter()
                .map(|row| (row.place.label.clone(), String::new(), row.counts))
                .collect(),
        ),
        variables: table(
            "fault-variables",
            "Variable",
            "Variables that have a place of their own, and kinds of memory",
            facts
                .variables
                .iter()
                .map(|row| (row.name.clone(), base(&row.module).to_owned(), row.counts))
                .collect(),
        ),
        mappings: table(
            "fault-mappings",
            "Mapping",
            "What was mapped where the faults were",
            facts
                .mappings
                .iter()
                .map(|row| {
                    let size = units::bytes(row.end.saturating_sub(row.start));
                    (mapping(row), format!("{size}, process {}", row.process), row.counts)
                })
                .collect(),
        ),
        touches: touches(facts),
    })
}

/// What they were, in sentences.
pub(crate) fn sentences(facts: &FaultFacts) -> Vec<String> {
    let total = facts.counts.total();
    let mut sentences = Vec::new();
    if total == 0 {
        sentences.push("No page fault was recorded.".to_owned());
    } else {
        let kinds: Vec<String> = KINDS
            .iter()
            .map(|(_, name, of)| (name, of(&facts.counts)))
            .filter(|(_, number)| *number > 0)
            .map(|(name, number)| format!("{name} {}", percent(number as f64 / total as f64)))
            .collect();
        sentences.push(format!(
            "Of {}: {}.",
            units::plural(total, "page fault"),
            kinds.join(", ")
        ));
    }
    if facts.waited_ns > 0 {
        sentences.push(format!(
            "Threads waited {} for I/O at {}.",
            duration(facts.waited_ns as f64),
            units::plural(facts.counts.major, "major fault")
        ));
    }
    if facts.huge_pages_inferred > 0 {
        sentences.push(format!(
            "About {} of the first touches brought a huge page of 2 MiB: faults are not pages.",
            count(facts.huge_pages_inferred)
        ));
    }
    let missing = facts.lost.saturating_add(facts.left_out);
    if missing > 0 {
        sentences.push(format!(
            "{} are missing here; the counts of tasks are complete.",
            units::plural(missing, "more fault")
        ));
    }
    if !facts.presence_known && total > 0 {
        sentences.push(
            "The kernel did not tell which pages were there, so copies on write and refused accesses count as repeated."
                .to_owned(),
        );
    }
    sentences
}

fn table(
    id: &str,
    title: &'static str,
    hint: &'static str,
    rows: Vec<(String, String, FaultCounts)>,
    total: u64,
) -> Option<Table> {
    if rows.is_empty() {
        return None;
    }
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    let rows = rows.into_iter().take(ROWS_MAX).map(|(name, note, counts)| {
        let share = counts.total() as f64 / total.max(1) as f64;
        Row {
            id: String::new(),
            cells: vec![
                Cell::name(shorten(&name, NAME_CHARS)).hint(shorten(&note, NAME_CHARS)),
                Cell::number(counts.total() as f64, count(counts.total())),
                Cell::number(share, percent(share)),
                Cell {
                    text: kinds(&counts),
                    class: "words",
                    bars: bars(&counts),
                    ..Cell::default()
                },
            ],
        }
    });
    Some(Table {
        id: id.to_owned(),
        caption: match left_out {
            0 => String::new(),
            more => format!("{} with fewer faults are left out.", count(more as u64)),
        },
        columns: vec![
            Column::text(title, hint),
            Column::number("Faults", ""),
            Column::number("Share", "Of all page faults"),
            Column::text(
                "Kinds",
                "First touches, repeated faults and so on, by their share",
            ),
        ],
        rows: rows.collect(),
        sortable: true,
    })
}

fn kinds(counts: &FaultCounts) -> String {
    let some: Vec<String> = KINDS
        .iter()
        .map(|(_, name, of)| (name, of(counts)))
        .filter(|(_, number)| *number > 0)
        .map(|(name, number)| format!("{name} {}", count(number)))
        .collect();
    some.join(", ")
}

fn bars(counts: &FaultCounts) -> Vec<MeterBar> {
    let total = counts.total().max(1) as f64;
    let mut before = 0.0;
    let mut bars = Vec::new();
    for (class, name, of) in KINDS {
        let number = of(counts);
        if number == 0 {
            continue;
        }
        let width = number as f64 / total * 100.0;
        bars.push(MeterBar {
            class: class.to_owned(),
            x: (before * 10.0_f64).round() / 10.0,
            w: (width * 10.0).round() / 10.0,
            title: format!("{name}: {}", count(number)),
        });
        before += width;
    }
    bars
}

fn touches(facts: &FaultFacts) -> Option<Table> {
    let rows = facts.touches.iter().take(ROWS_MAX).map(|row| Row {
        id: String::new(),
        cells: vec![
            Cell::name(format!("thread {}", row.later)),
            Cell::words(format!("thread {} of process {}", row.first, row.process)),
            Cell::number(row.faults as f64, count(row.faults)),
        ],
    });
    let rows: Vec<Row> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        id: "fault-touches".to_owned(),
        caption: "Faults on pages that another thread had touched first.".to_owned(),
        columns: vec![
            Column::text("Faulted", ""),
            Column::text("Touched first by", ""),
            Column::number("Faults", ""),
        ],
        rows,
        sortable: true,
    })
}

/// A mapping, in words.
fn mapping(row: &MappingRow) -> String {
    let kind = match row.kind {
        MappingKind::Heap => "heap",
        MappingKind::Anonymous => "mapped memory",
        MappingKind::Stack => "stack",
        MappingKind::File => return base(&row.name).to_owned(),
        MappingKind::SharedMemory => "shared memory",
        MappingKind::HugePages => "huge pages",
        MappingKind::Kernel => "the kernel's own",
        MappingKind::Unknown => "unknown memory",
    };
    match base(&row.name) {
        "" | "anon" => kind.to_owned(),
        name if name.starts_with('[') => kind.to_owned(),
        name => format!("{kind} {name}"),
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The map, if there is one.
pub(super) fn heat(paging: &PagingFacts) -> Option<HeatData> {
    let facts = paging.faults.as_ref()?;
    let heat = &facts.heat;
    let columns = heat.columns as usize;
    let most = CELLS_MAX / columns.max(1);
    let mut rows: Vec<_> = heat.rows.iter().take(most).collect();
    if rows.is_empty() {
        return None;
    }
    // By address, but rows of a mapping stay together.
    let first = |mapping: usize| facts.mappings.get(mapping).map_or(0, |row| row.start);
    rows.sort_by_key(|row| (first(row.mapping), row.mapping, row.start));
    let mut parts: Vec<(usize, String, usize, usize)> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        match parts.last_mut() {
            Some((mapping, _, _, rows)) if *mapping == row.mapping => *rows += 1,
            _ => {
                let name = facts.mappings.get(row.mapping).map(mapping);
                let name = shorten(&name.unwrap_or_default(), NAME_CHARS);
                parts.push((row.mapping, name, number, 1));
            }
        }
    }
    let origin = paging.analysis.origin_ns;
    let cells = rows.iter().flat_map(|row| {
        let faults = row.faults.iter().copied().map(u64::from);
        faults.chain(std::iter::repeat(0)).take(columns)
    });
    Some(HeatData {
        span: [heat.begin_ns, heat.end_ns].map(|at| at.saturating_sub(origin)),
        columns: heat.columns,
        addresses: rows
            .iter()
            .map(|row| [row.start, row.end].map(|at| format!("{at:#x}")))
            .collect(),
        cells: Zeros::new(cells.collect()),
        parts: parts
            .into_iter()
            .map(|(_, name, first, rows)| (name, first, rows))
            .collect(),
    })
}
