//! The table of regions and what is under each of its rows.

use super::table::{Cell, Column, MeterBar, Row, Table};
use super::{Fact, LegendEntry, words};
use crate::chart::{Chart, Segment, Stack, strips};
use crate::units;
use fathomp_analyse::{Analysis, Confidence, Region, SiteKind, State, ThreadShare, Times};
use serde::Serialize;

/// A name in a table has at most this many characters.
pub(crate) const NAME_CHARS: usize = 96;
/// A full name has at most this many: some C++ symbols are novels.
const FULL_NAME_CHARS: usize = 4000;
/// Rows of the table; the exports have all regions.
const ROWS_MAX: usize = 300;
/// Regions with a section of their own.
const DETAILS_MAX: usize = 40;
/// Parts of bars in all sections together, which keeps the page small with
/// hundreds of threads.
const PARTS_MAX: usize = 8000;
/// Threads in a drawing.
const THREADS_MAX: usize = 128;

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

/// A region in full.
#[derive(Debug, Serialize)]
pub(crate) struct Detail {
    id: String,
    name: String,
    line: String,
    full_name: String,
    sentences: Vec<String>,
    legend: Vec<LegendEntry>,
    threads: Option<Chart>,
    threads_caption: String,
    facts: Vec<Fact>,
}

/// Name of a region in a table.
pub(crate) fn name(region: &Region) -> String {
    if region.kind == SiteKind::Serial {
        "serial part".to_owned()
    } else {
        words::shorten(&region.name, NAME_CHARS)
    }
}

/// Name of the element with the details of region `index`.
pub(crate) fn anchor(index: usize) -> String {
    format!("region-{index}")
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
    if predicted {
        columns.push(Column::number(
            "Best threads",
            "Threads beyond which its time stops falling, as predicted",
        ));
        columns.push(Column::text(
            "Limited by",
            "The term that stops it, as predicted",
        ));
    }
    let detailed = detailed(analysis);
    let rows = analysis
        .regions
        .iter()
        .enumerate()
        .take(ROWS_MAX)
        .map(|(index, region)| {
            let outlook = outlook.get(index).and_then(Option::as_ref);
            let mut cells = cells(region, detailed.contains(&index).then(|| anchor(index)));
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
        id: "region-table",
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

fn shown(times: &Times) -> impl Iterator<Item = (State, u64)> + '_ {
    times.iter().filter(|(_, ns)| *ns > 0)
}

/// Colours of the states that occur in `times`.
pub(crate) fn legend<'a>(times: impl IntoIterator<Item = &'a Times>) -> Vec<LegendEntry> {
    let mut sum = Times::default();
    for one in times {
        sum += one;
    }
    shown(&sum)
        .map(|(state, _)| LegendEntry {
            class: state.name(),
            name: words::state(state),
        })
        .collect()
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

/// Regions worth a section of their own: those that take the most time, as
/// many as the page has room for, but at least one.
fn detailed(analysis: &Analysis) -> Vec<usize> {
    let mut parts = 0;
    (0..analysis.regions.len())
        .filter(|index| analysis.regions[*index].kind != SiteKind::Serial)
        .take(DETAILS_MAX)
        .take_while(|index| {
            let fits = parts < PARTS_MAX;
            let region = &analysis.regions[*index];
            parts += region.threads.len().min(THREADS_MAX) * shown(&region.states).count();
            fits
        })
        .collect()
}

/// The sections.
pub(crate) fn details(analysis: &Analysis, outlook: &[Option<Outlook>]) -> Vec<Detail> {
    detailed(analysis)
        .into_iter()
        .map(|index| {
            let region = &analysis.regions[index];
            detail(
                analysis,
                index,
                region,
                outlook.get(index).and_then(Option::as_ref),
            )
        })
        .collect()
}

/// A sentence on what the sections leave out.
pub(crate) fn details_note(analysis: &Analysis) -> String {
    let all = analysis
        .regions
        .iter()
        .filter(|region| region.kind != SiteKind::Serial)
        .count();
    let here = detailed(analysis).len();
    if here < all {
        format!(
            "The {} with the most time, of {}; the exports have all.",
            units::plural(here as u64, "region"),
            units::count(all as u64)
        )
    } else {
        String::new()
    }
}

fn detail(analysis: &Analysis, index: usize, region: &Region, outlook: Option<&Outlook>) -> Detail {
    let mut sentences = Vec::new();
    if let Some(outlook) = outlook
        && !outlook.sentence.is_empty()
    {
        sentences.push(outlook.sentence.clone());
    }
    sentences.extend(losses(region));
    match region.confidence {
        Confidence::Complete => {}
        Confidence::Merged => sentences.push(
            "Its executions are so short that some were recorded as sums: lengths of single executions are averages."
                .to_owned(),
        ),
        Confidence::Incomplete => sentences.push(
            "Records of some of its threads are missing: waits were completed from what there is."
                .to_owned(),
        ),
    }
    let full_name = words::shorten(&region.place.label, FULL_NAME_CHARS);
    let name = name(region);
    Detail {
        id: anchor(index),
        line: format!(
            "{} in {}, {} of the time",
            units::duration(region.wall_ns as f64),
            units::plural(region.instances, "instance"),
            units::percent(region.share)
        ),
        full_name: if full_name == name {
            String::new()
        } else {
            full_name
        },
        name,
        sentences,
        legend: legend([&region.states]),
        threads: threads(analysis, region),
        threads_caption: threads_caption(region),
        facts: facts(region),
    }
}

/// The threads drawn: all, or some from the least to the most computing.
fn drawn(region: &Region) -> Vec<&ThreadShare> {
    let all = region.threads.len();
    if all <= THREADS_MAX {
        return region.threads.iter().collect();
    }
    let mut sorted: Vec<&ThreadShare> = region.threads.iter().collect();
    sorted.sort_by_key(|thread| thread.states.useful_ns());
    (0..THREADS_MAX)
        .map(|step| sorted[step * (all - 1) / (THREADS_MAX - 1)])
        .collect()
}

fn threads(analysis: &Analysis, region: &Region) -> Option<Chart> {
    let several = analysis.processes.len() > 1;
    let stacks: Vec<Stack> = drawn(region)
        .into_iter()
        .map(|thread| Stack {
            name: match thread.thread_num {
                _ if several => format!("{}:{}", thread.process, thread.thread),
                Some(number) => format!("thread {number}"),
                None => format!("thread {}", thread.thread),
            },
            segments: shown(&thread.states)
                .map(|(state, ns)| Segment {
                    class: state.name().to_owned(),
                    name: words::state(state).to_owned(),
                    ns: ns as f64,
                })
                .collect(),
        })
        .collect();
    (!stacks.is_empty()).then(|| {
        let label = format!("Time per thread and state in {}", name(region));
        strips(label, &stacks)
    })
}

fn threads_caption(region: &Region) -> String {
    let all = region.threads.len();
    let some = if all > THREADS_MAX {
        format!(
            " {THREADS_MAX} of {} threads, from the least to the most computing.",
            units::count(all as u64)
        )
    } else {
        String::new()
    };
    format!("Time of each thread in this region by state, nested regions not included.{some}")
}

/// Where the region's processor time goes, if much of it is not computing.
fn losses(region: &Region) -> Option<String> {
    let total = region.states.total_ns().max(1) as f64;
    let mut parts: Vec<(State, f64)> = shown(&region.states)
        .filter(|(state, _)| *state != State::Compute)
        .map(|(state, ns)| (state, ns as f64 / total))
        .filter(|(_, share)| *share >= 0.01)
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let items: Vec<String> = parts
        .iter()
        .take(3)
        .map(|(state, share)| format!("{} on {}", units::percent(*share), words::state(*state)))
        .collect();
    (!items.is_empty()).then(|| format!("Of its threads' time it spends {}.", words::list(&items)))
}

fn facts(region: &Region) -> Vec<Fact> {
    let mut facts = Vec::new();
    let team = if region.team_size_min == region.team_size_max {
        units::plural(region.team_size_max.into(), "thread")
    } else {
        format!(
            "{} to {} threads",
            region.team_size_min, region.team_size_max
        )
    };
    facts.push(Fact::new("Team", team));
    let length = &region.length;
    if length.count > 1 {
        let [least, median, most] =
            [length.min_ns, length.median_ns, length.max_ns].map(|ns| units::duration(ns as f64));
        let text = if least == most {
            most
        } else {
            format!("median {median}, from {least} to {most}")
        };
        facts.push(Fact::new("Length of an execution", text));
    }
    let efficiency = &region.efficiency;
    facts.push(Fact::new(
        "Parallel efficiency",
        format!(
            "{} = load balance {} × serialisation {} × transfer {}",
            units::percent(efficiency.parallel),
            units::percent(efficiency.load_balance),
            units::percent(efficiency.serialisation),
            units::percent(efficiency.transfer)
        ),
    ));
    facts.push(Fact::new(
        "Lost to imbalance",
        format!("{} a thread", units::duration(region.imbalance_ns as f64)),
    ));
    if region.level > 1 {
        facts.push(Fact::new(
            "Nesting level",
            format!("{} (and deeper)", region.level),
        ));
    }
    if region.encountering_threads > 1 {
        let at_once = if region.concurrent {
            ", at the same time"
        } else {
            ""
        };
        facts.push(Fact::new(
            "Encountered by",
            format!(
                "{}{at_once}",
                units::plural(region.encountering_threads.into(), "thread")
            ),
        ));
    }
    if region.iterations > 0 {
        facts.push(Fact::new(
            "Loop iterations",
            format!(
                "{} in {}",
                units::count(region.iterations),
                units::plural(region.chunks, "chunk")
            ),
        ));
    }
    if region.tasks_created + region.tasks_run > 0 {
        facts.push(Fact::new(
            "Explicit tasks",
            format!(
                "{} created, {} run",
                units::count(region.tasks_created),
                units::count(region.tasks_run)
            ),
        ));
    }
    let waits: Vec<String> = region
        .wait_counts
        .iter()
        .filter(|(_, number)| **number > 0)
        .map(|(state, number)| format!("{} × {}", units::count(*number), words::state(*state)))
        .collect();
    if !waits.is_empty() {
        facts.push(Fact::new("Waits", waits.join(", ")));
    }
    facts
}
