//! What the pictures show, as tables.

use super::{choice, near, words};
use crate::facts::PagingFacts;
use fathomp_paging::{Counter, State};
use fathomp_report::section::{Cell, Column, MeterBar, Row, Table};
use fathomp_skyline::{Resource, TaskFacts};
use fathomp_types::text::shorten;
use fathomp_types::units::{self, duration, percent, ratio};

/// Tasks with a row.
const TASKS_MAX: usize = 128;
/// Counters with a column.
const COLUMNS_MAX: usize = 8;
/// Peaks with a row, of each counter.
const PEAKS_MAX: usize = 10;
/// Counters whose peaks are listed.
const PEAKED_MAX: usize = 4;
/// Moments at which most tasks page at once.
const POINTS_MAX: usize = 50;
/// Letters of a name.
const NAME_CHARS: usize = 60;

pub(super) fn tasks(paging: &PagingFacts) -> Option<Table> {
    let tasks = &paging.analysis.tasks;
    if tasks.is_empty() {
        return None;
    }
    let places = choice::tasks(paging, TASKS_MAX);
    let mut counters = choice::counted(tasks);
    counters.truncate(COLUMNS_MAX);
    let mut columns = vec![
        Column::text("Task", ""),
        Column::number("Time", "Recorded time, in any state"),
        Column::text("States", "Share of its time in each state"),
        Column::number("Suspended", "Share of its time in which it waited"),
    ];
    columns.extend(
        counters
            .iter()
            .map(|counter| Column::number(words::column(*counter), words::counter(*counter))),
    );
    let rows = places.iter().filter_map(|place| tasks.get(*place));
    let rows: Vec<Row> = rows.map(|task| row(task, &counters)).collect();
    let alive = choice::alive(paging);
    let caption = if alive > rows.len() {
        format!("{} of {} tasks.", rows.len(), units::count(alive as u64))
    } else {
        String::new()
    };
    Some(Table {
        id: "paging-tasks".to_owned(),
        caption,
        columns,
        rows,
        sortable: true,
    })
}

fn row(task: &TaskFacts, counters: &[Counter]) -> Row {
    let recorded = task.recorded_ns() as f64;
    // Of what was only sampled, no time in any state is known.
    let of_time = |value: f64, text: String| match recorded > 0.0 {
        true => Cell::number(value, text),
        false => Cell::nothing(),
    };
    let mut before = 0.0;
    let mut bars = Vec::new();
    for state in State::ALL {
        let share = task.states_ns[state.index()] as f64 / recorded.max(1.0);
        if share > 0.0005 {
            bars.push(MeterBar {
                class: words::class(state).to_owned(),
                x: tenth(before * 100.0),
                w: tenth(share * 100.0),
                title: format!("{}: {}", words::state(state), percent(share)),
            });
        }
        before += share;
    }
    let said: Vec<&str> = bars.iter().map(|bar| &*bar.title).collect();
    let suspended: f64 = State::ALL
        .into_iter()
        .filter(|state| state.suspended)
        .map(|state| task.states_ns[state.index()] as f64)
        .sum();
    let share = suspended / recorded.max(1.0);
    let mut cells = vec![
        Cell::name(shorten(&task.label, NAME_CHARS)),
        of_time(recorded, duration(recorded)),
        Cell {
            text: said.join(", "),
            class: "words",
            bars,
            ..Cell::default()
        },
        of_time(share, percent(share)),
    ];
    cells.extend(
        counters
            .iter()
            .map(|counter| match task.totals.get(counter) {
                None | Some(0) => Cell::nothing(),
                Some(count) => Cell::number(*count as f64, words::amount(*counter, *count)),
            }),
    );
    Row {
        id: String::new(),
        cells,
    }
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

pub(super) fn peaks(paging: &PagingFacts) -> Option<Table> {
    let (chosen, _) = choice::counters(paging, None);
    let mut rows = Vec::new();
    for one in chosen.iter().take(PEAKED_MAX) {
        let skyline = &one.profile.skyline;
        if skyline.is_doubtful() {
            continue;
        }
        let counter = one.facts.counter;
        for peak in skyline.peaks.iter().take(PEAKS_MAX) {
            let share = peak.mass as f64 / skyline.total.max(1) as f64;
            let length = peak.to_ns.saturating_sub(peak.from_ns) as f64;
            let near = near::place(paging, peak);
            rows.push(Row {
                id: String::new(),
                cells: vec![
                    Cell::words(words::counter(counter)),
                    Cell::number(peak.from_ns as f64, duration(peak.from_ns as f64)),
                    Cell::number(length, duration(length)),
                    Cell::number(
                        peak.highest_per_second,
                        words::rate(counter, peak.highest_per_second),
                    ),
                    Cell::number(peak.mass as f64, words::amount(counter, peak.mass)),
                    Cell::number(share, percent(share)),
                    if near.is_empty() {
                        Cell::nothing()
                    } else {
                        Cell::name(shorten(&near, NAME_CHARS))
                    },
                ],
            });
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "paging-peaks".to_owned(),
        caption: "The highest peaks of all tasks together.".to_owned(),
        columns: vec![
            Column::text("Counter", ""),
            Column::number("At", "When it begins"),
            Column::number("Length", ""),
            Column::number("Highest", "Highest rate within it"),
            Column::number("Counts", "All its counts"),
            Column::number("Share", "Of all counts of the counter"),
            Column::text(
                "Near",
                "The region that ran when it was highest, or a barrier within it",
            ),
        ],
        rows,
        sortable: true,
    })
}

pub(super) fn periods(paging: &PagingFacts) -> Option<Table> {
    let (chosen, _) = choice::counters(paging, None);
    let mut rows = Vec::new();
    for one in &chosen {
        let phases = one.profile.phases.as_ref().and_then(|phases| phases.period);
        for (axis, period) in [("wall time", one.profile.period), ("phases", phases)] {
            let Some(period) = period else { continue };
            rows.push(Row {
                id: String::new(),
                cells: vec![
                    Cell::words(words::counter(one.facts.counter)),
                    Cell::words(axis),
                    Cell::number(period.ns, duration(period.ns)),
                    Cell::number(period.steps, ratio(period.steps)),
                    Cell::number(period.r, ratio(period.r)),
                    Cell::number(period.r_least, ratio(period.r_least)),
                    Cell::number(period.repeats, ratio(period.repeats)),
                ],
            });
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "paging-periods".to_owned(),
        caption: "What repeats.".to_owned(),
        columns: vec![
            Column::text("Counter", ""),
            Column::text("By", "By which time"),
            Column::number("Every", ""),
            Column::number("Steps", "The period in bins, or in phases"),
            Column::number("r", "Autocorrelation at that lag; 1 repeats exactly"),
            Column::number("Least r", "What the autocorrelation had to exceed"),
            Column::number("Times", "Periods that fit"),
        ],
        rows,
        sortable: false,
    })
}

pub(super) fn points(paging: &PagingFacts) -> Option<Table> {
    let (chosen, _) = choice::counters(paging, None);
    let mut rows = Vec::new();
    for one in &chosen {
        let Some(found) = &one.profile.synchronisation else {
            continue;
        };
        if found.points.len() as f64 <= found.points_by_chance {
            continue;
        }
        for point in &found.points {
            let length = point.to_ns.saturating_sub(point.from_ns) as f64;
            let barrier = point.barrier.as_ref().map(|near| match &*near.name {
                "" => "one without a name",
                name => name,
            });
            rows.push(Row {
                id: String::new(),
                cells: vec![
                    Cell::words(words::counter(one.facts.counter)),
                    Cell::number(point.from_ns as f64, duration(point.from_ns as f64)),
                    Cell::number(length, duration(length)),
                    Cell::number(
                        point.tasks as f64,
                        format!(
                            "{} of {}",
                            units::count(point.tasks),
                            units::count(found.tasks)
                        ),
                    ),
                    barrier
                        .map_or_else(Cell::nothing, |name| Cell::name(shorten(name, NAME_CHARS))),
                ],
            });
        }
    }
    rows.truncate(POINTS_MAX);
    (!rows.is_empty()).then(|| Table {
        id: "paging-points".to_owned(),
        caption: "Moments at which most tasks are in a peak.".to_owned(),
        columns: vec![
            Column::text("Counter", ""),
            Column::number("At", ""),
            Column::number("Length", ""),
            Column::number("Tasks", "Most tasks that are in a peak at the same time"),
            Column::text("Barrier", "A barrier that was passed then"),
        ],
        rows,
        sortable: true,
    })
}

pub(super) fn servers(paging: &PagingFacts) -> Option<Table> {
    let servers = &paging.analysis.servers;
    let rows = servers.iter().map(|server| {
        let peaks = server.skyline.peaks.iter();
        let highest = peaks
            .map(|peak| peak.highest_per_second)
            .fold(0.0, f64::max);
        Row {
            id: String::new(),
            cells: vec![
                Cell::name(shorten(&server.label, NAME_CHARS)),
                Cell::number(server.total as f64, units::count(server.total)),
                Cell::number(server.share, percent(server.share)),
                Cell::number(highest, words::rate(server.counter, highest)),
            ],
        }
    });
    let rows: Vec<Row> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        id: "paging-servers".to_owned(),
        caption: "Where pages come from.".to_owned(),
        columns: vec![
            Column::text("Served by", ""),
            Column::number("Pages", "Pages of 4 KiB"),
            Column::number("Share", "Of all pages that servers of its kind served"),
            Column::number("Highest", "Pages per second in its highest peak"),
        ],
        rows,
        sortable: true,
    })
}

pub(super) fn loads(paging: &PagingFacts) -> Option<Table> {
    let rows = paging.analysis.loads.iter().map(|load| {
        let per_second = |pages: f64| format!("{}/s", ratio(pages));
        let length = load.to_ns.saturating_sub(load.from_ns) as f64;
        Row {
            id: String::new(),
            cells: vec![
                Cell::words(load.resource.title()),
                match load.resource {
                    Resource::Memory => Cell::nothing(),
                    _ => Cell::number(
                        load.bytes_per_second,
                        format!("{}/s", units::bytes(load.bytes_per_second.max(0.0) as u64)),
                    ),
                },
                Cell::number(load.pages_per_second, per_second(load.pages_per_second)),
                Cell::number(
                    load.mean_pages_per_second,
                    per_second(load.mean_pages_per_second),
                ),
                Cell::number(load.from_ns as f64, duration(load.from_ns as f64)),
                Cell::number(length, duration(length)),
            ],
        }
    });
    let rows: Vec<Row> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        id: "paging-loads".to_owned(),
        caption: "The highest load, of all tasks together.".to_owned(),
        columns: vec![
            Column::text("On", ""),
            Column::number("Bytes", "Bytes per second then"),
            Column::number("Pages", "Pages of 4 KiB per second then"),
            Column::number("On average", "Pages per second over the whole time"),
            Column::number("From", ""),
            Column::number("For", ""),
        ],
        rows,
        sortable: false,
    })
}
