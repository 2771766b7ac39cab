//! The table of regions.

use super::colours::shown;
use super::table::{Cell, Column, MeterBar, Row, Table};
use super::{details, words};
use crate::units;
use fathomp_analysis::{Analysis, Region, SiteKind, State, Times};

/// A name in a table has at most this many characters.
pub(crate) const NAME_CHARS: usize = 96;
/// The function's name beside it, likewise.
const FUNCTION_CHARS: usize = 40;
/// Rows of the table; the exports have all regions.
const ROWS_MAX: usize = 300;
/// What the prediction adds to a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outlook {
    /// Threads beyond which its time stops falling.
    pub(crate) best_threads: Option<u32>,
    /// What stops it.
    pub(crate) limit: String,
    /// The whole sentence.
    pub(crate) sentence: String,
}

/// Name of a region in a table.
pub(crate) fn name(region: &Region) -> String {
    if region.kind == SiteKind::Serial {
        "serial part".to_owned()
    } else {
        words::shorten(&region.name, NAME_CHARS)
    }
}

/// The table; `outlook` gives what is predicted for a region.
pub(crate) fn table(analysis: &Analysis, outlook: &[Option<Outlook>]) -> Table {
    let predicted = outlook.iter().any(Option::is_some);
    let mut columns = vec![
        Column::text("Region", "Where the parallel region is in the source"),
        Column::number("Instances", "Times it was executed"),
        Column::number("Time", "Sum of the lengths of its executions"),
        Column::number("Share", "Its time as a fraction of the program's wall time"),
        Column::text(
            "Threads' time",
            "How the time of all its threads divides; without nested regions",
        ),
        Column::number(
            "Efficiency",
            "Parallel efficiency: application time over all processor time",
        ),
        Column::number(
            "Balance",
            "Load balance: mean over longest application time",
        ),
        Column::number(
            "Waiting",
            "Waiting for other threads, of all its threads' time",
        ),
        Column::number("Faults", "Page faults, minor and major"),
    ];
    let iterations = analysis
        .regions
        .iter()
        .any(|region| region.all_iterations().is_some());
    if iterations {
        columns.push(Column::number(
            "Iterations",
            "Iterations of its worksharing loops, all executions and threads; of those that threads divide by themselves, by the program's code and the values it was begun with",
        ));
    }
    if predicted {
        columns.push(Column::number(
            "Best threads",
            "Threads beyond which its time stops falling, as predicted",
        ));
        columns.push(Column::text("Limited by", "The most expensive cause in it"));
    }
    let detailed = details::chosen(analysis);
    let rows = analysis
        .regions
        .iter()
        .enumerate()
        .take(ROWS_MAX)
        .map(|(index, region)| {
            let outlook = outlook.get(index).and_then(Option::as_ref);
            let mut cells = cells(
                region,
                detailed.contains(&index).then(|| details::anchor(index)),
            );
            if iterations {
                cells.push(match region.all_iterations() {
                    Some(count) => Cell::number(count as f64, units::count(count)),
                    None => Cell::nothing(),
                });
            }
            if predicted {
                cells.push(match outlook.and_then(|one| one.best_threads) {
                    Some(threads) => Cell::number(f64::from(threads), threads.to_string()),
                    None => Cell::nothing(),
                });
                cells.push(Cell::words(
                    outlook.map(|one| one.limit.clone()).unwrap_or_default(),
                ));
            }
            Row {
                id: String::new(),
                cells,
            }
        })
        .collect();
    Table {
        id: "region-table".to_owned(),
        caption: String::new(),
        columns,
        rows,
        sortable: true,
    }
}

fn cells(region: &Region, target: Option<String>) -> Vec<Cell> {
    let total_ns = region.states.total_ns();
    let serial = region.kind == SiteKind::Serial;
    let share_waiting = region.states.waiting_ns() as f64 / total_ns.max(1) as f64;
    let faults = region.counts.minor_faults + region.counts.major_faults;
    let mut title = Cell::name(name(region));
    if let Some(target) = target {
        title = title.link(target);
    }
    if !serial {
        title = title.hint(words::shorten(&region.place.label, 300));
        if let (Some(_), Some(function)) = (region.place.line, &region.place.function) {
            title = title.note(words::shorten(function, FUNCTION_CHARS));
        }
    }
    let efficiency = |value: f64| {
        if serial {
            Cell::nothing()
        } else {
            Cell::number(value, units::percent(value))
        }
    };
    vec![
        title,
        Cell::number(region.instances as f64, units::count(region.instances)),
        Cell::number(
            region.wall_ns as f64,
            units::duration(region.wall_ns as f64),
        ),
        Cell::number(region.share, units::percent(region.share)),
        Cell {
            text: split_in_words(&region.states),
            sort: Some(region.states.useful_ns() as f64 / total_ns.max(1) as f64),
            bars: meter(&region.states, serial),
            ..Cell::default()
        },
        efficiency(region.efficiency.parallel),
        efficiency(region.efficiency.load_balance),
        efficiency(share_waiting),
        Cell::number(faults, units::count(faults.round() as u64)),
    ]
}

fn meter(times: &Times, serial: bool) -> Vec<MeterBar> {
    let total = times.total_ns().max(1) as f64;
    let mut x = 0.0;
    shown(times)
        .map(|(state, ns)| {
            let w = (ns as f64 / total * 1000.0).round() / 10.0;
            let bar = MeterBar {
                class: class(state, serial).to_owned(),
                x,
                w,
                title: format!("{}: {}", words::state(state), units::duration(ns as f64)),
            };
            x = ((x + w) * 10.0).round() / 10.0;
            bar
        })
        .collect()
}

fn split_in_words(times: &Times) -> String {
    let total = times.total_ns().max(1) as f64;
    let parts: Vec<String> = shown(times)
        .map(|(state, ns)| {
            format!(
                "{} {}",
                words::state(state),
                units::percent(ns as f64 / total)
            )
        })
        .collect();
    parts.join(", ")
}

/// CSS class of a state's colour.
pub(crate) fn class(state: State, serial: bool) -> &'static str {
    if serial && state == State::Compute {
        "serial"
    } else {
        state.name()
    }
}

/// What the table leaves out, as a sentence.
pub(crate) fn table_note(analysis: &Analysis) -> String {
    let more = analysis.regions.len().saturating_sub(ROWS_MAX);
    if more == 0 {
        return String::new();
    }
    format!(
        " {} with less time are left out; the exports have them.",
        units::plural(more as u64, "region")
    )
}
