//! Programs that shared one machine, as tables and as what the script draws.

use super::table::{Cell, Column, Row, Table};
use crate::share::{Shared, SharedProgram, SharedSpan};
use crate::units;
use serde::Serialize;
use std::collections::BTreeSet;

/// Spans of one program in the picture; more are joined. At most twice as many are left,
/// since two neighbours together are longer than this part of the time.
const SPANS_MAX: usize = 4000;
/// Colours that are told apart, by their names in the style.
const COLOURS: [&str; 8] = [
    "compute",
    "implicit_barrier",
    "io",
    "ordered",
    "critical",
    "communication",
    "explicit_barrier",
    "task_wait",
];

#[derive(Debug, Serialize)]
pub(crate) struct SharePage {
    title: String,
    subtitle: Vec<String>,
    programs: Table,
    regions: Vec<Table>,
    caption: String,
    label: String,
    legend: Vec<Entry>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Entry {
    class: &'static str,
    name: String,
}

/// What goes into the page as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct ShareData {
    timelines: [(); 0],
    share: Picture,
}

#[derive(Debug, Serialize)]
struct Picture {
    begin: u64,
    end: u64,
    colours: Vec<&'static str>,
    programs: Vec<Lane>,
    cores: Vec<Core>,
}

#[derive(Debug, Serialize)]
struct Lane {
    name: String,
    regions: Vec<String>,
    /// Begin, end, region, threads, executions.
    spans: Vec<(u64, u64, usize, u32, u64)>,
}

#[derive(Debug, Serialize)]
struct Core {
    name: String,
    segments: Vec<Segment>,
}

/// Begin, end, nothing, the program that has the core; if there are several, the shares of
/// each.
type Segment = (u64, u64, usize, usize, Option<Vec<usize>>);

pub(crate) fn build(shared: &Shared) -> (SharePage, ShareData) {
    let spans: Vec<Vec<SharedSpan>> = shared
        .programs
        .iter()
        .map(|one| joined(&one.spans))
        .collect();
    let length = shared.end_ns.saturating_sub(shared.begin_ns);
    let names: Vec<String> = shared.programs.iter().map(|one| one.name.clone()).collect();
    let cores = cores(shared, &spans);
    let page = SharePage {
        title: format!("{} on one machine", names.join(", ")),
        subtitle: vec![format!(
            "{} and {} for {}, divided {}",
            units::plural(shared.programs.len() as u64, "program"),
            units::plural(shared.cores.len() as u64, "core"),
            units::duration(length as f64),
            shared.strategy
        )],
        programs: programs(shared),
        regions: shared
            .programs
            .iter()
            .enumerate()
            .filter(|(_, one)| !one.spans.is_empty())
            .map(|(index, one)| regions(index, one))
            .collect(),
        caption: caption(cores.is_empty()),
        label: format!(
            "Regions of {} over {}",
            names.join(" and "),
            units::duration(length as f64)
        ),
        legend: names
            .iter()
            .enumerate()
            .map(|(index, name)| Entry {
                class: COLOURS[index % COLOURS.len()],
                name: name.clone(),
            })
            .collect(),
        notes: notes(shared),
    };
    let data = ShareData {
        timelines: [],
        share: Picture {
            begin: shared.begin_ns,
            end: shared.end_ns,
            colours: (0..names.len())
                .map(|index| COLOURS[index % COLOURS.len()])
                .collect(),
            programs: shared
                .programs
                .iter()
                .zip(&spans)
                .map(|(one, spans)| Lane {
                    name: one.name.clone(),
                    regions: one.regions.clone(),
                    spans: spans
                        .iter()
                        .map(|span| {
                            (
                                span.begin_ns,
                                span.end_ns,
                                span.region,
                                span.threads,
                                span.instances,
                            )
                        })
                        .collect(),
                })
                .collect(),
            cores,
        },
    };
    (page, data)
}

fn caption(chosen_by_kernel: bool) -> String {
    let lanes = "A row for each program shows its parallel regions; between them it computes on \
                 one thread, or waits.";
    if chosen_by_kernel {
        format!("{lanes} Which cores its threads ran on was left to the kernel.")
    } else {
        format!("{lanes} Below, a row for each core shows to which region it was given.")
    }
}

fn notes(shared: &Shared) -> Vec<String> {
    let mut notes = Vec::new();
    for one in &shared.programs {
        if one.lost > 0 {
            notes.push(format!(
                "{}: {} of regions are missing here: there was no room to note them, or they made no sense.",
                one.name,
                units::plural(one.lost, "execution")
            ));
        } else if one.spans.is_empty() {
            notes.push(format!(
                "{}: no parallel region with more than one thread was seen.",
                one.name
            ));
        }
    }
    notes
}

fn programs(shared: &Shared) -> Table {
    Table {
        id: "programs".to_owned(),
        caption: String::new(),
        columns: vec![
            Column::text("Program", "Number on the command line, and name"),
            Column::text("Command", ""),
            Column::number("Time", "From its start to its end"),
            Column::number("In regions", "Part of that in parallel regions"),
            Column::number("Threads", "Mean over the time in regions"),
            Column::text("Ended", ""),
        ],
        rows: shared
            .programs
            .iter()
            .map(|one| {
                let inside: u64 = one.spans.iter().map(length).sum();
                let share = inside as f64 / one.wall_ns.max(1) as f64;
                Row {
                    id: String::new(),
                    cells: vec![
                        plain(one.name.clone()),
                        plain(one.command.clone()),
                        number(units::duration(one.wall_ns as f64), one.wall_ns as f64),
                        number(format!("{:.0} %", share * 100.0), share),
                        mean_threads(&one.spans),
                        plain(one.ended.clone()),
                    ],
                }
            })
            .collect(),
        sortable: false,
    }
}

fn regions(index: usize, program: &SharedProgram) -> Table {
    let rows = program
        .regions
        .iter()
        .enumerate()
        .filter_map(|(region, name)| {
            let own: Vec<SharedSpan> = program
                .spans
                .iter()
                .filter(|span| span.region == region)
                .cloned()
                .collect();
            if own.is_empty() {
                return None;
            }
            let time: u64 = own.iter().map(length).sum();
            let instances: u64 = own.iter().map(|span| span.instances).sum();
            Some(Row {
                id: String::new(),
                cells: vec![
                    plain(name.clone()),
                    number(instances.to_string(), instances as f64),
                    number(units::duration(time as f64), time as f64),
                    mean_threads(&own),
                ],
            })
        });
    Table {
        id: format!("regions-{}", index + 1),
        caption: program.name.clone(),
        columns: vec![
            Column::text("Region", "Where the parallel region is in the source"),
            Column::number("Instances", "Times it was executed"),
            Column::number("Time", "Sum of the lengths of its executions"),
            Column::number("Threads", "Mean over its time"),
        ],
        rows: rows.collect(),
        sortable: true,
    }
}

fn length(span: &SharedSpan) -> u64 {
    span.end_ns.saturating_sub(span.begin_ns)
}

fn mean_threads(spans: &[SharedSpan]) -> Cell {
    let time: u64 = spans.iter().map(length).sum();
    let weighted: f64 = spans
        .iter()
        .map(|span| length(span) as f64 * f64::from(span.threads))
        .sum();
    if time == 0 {
        return plain(String::new());
    }
    let mean = weighted / time as f64;
    number(format!("{mean:.2}"), mean)
}

fn plain(text: String) -> Cell {
    Cell {
        text,
        ..Cell::default()
    }
}

fn number(text: String, sort: f64) -> Cell {
    Cell {
        text,
        class: "num",
        sort: Some(sort),
        ..Cell::default()
    }
}

/// Spans, of which neighbours are joined as long as there are too many: the one with the
/// longest time names them.
fn joined(spans: &[SharedSpan]) -> Vec<SharedSpan> {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
        return Vec::new();
    };
    if spans.len() <= SPANS_MAX {
        return spans.to_vec();
    }
    let cell = last.end_ns.saturating_sub(first.begin_ns) / SPANS_MAX as u64;
    let mut all: Vec<SharedSpan> = Vec::new();
    let mut longest = 0;
    for span in spans {
        match all.last_mut() {
            Some(open) if span.end_ns.saturating_sub(open.begin_ns) <= cell => {
                let instances = open.instances + span.instances;
                let begin_ns = open.begin_ns;
                if length(span) > longest {
                    longest = length(span);
                    *open = span.clone();
                }
                (open.begin_ns, open.end_ns, open.instances) = (begin_ns, span.end_ns, instances);
            }
            _ => {
                longest = length(span);
                all.push(span.clone());
            }
        }
    }
    all
}

/// Which program has each core when; nothing if nobody was given any.
fn cores(shared: &Shared, spans: &[Vec<SharedSpan>]) -> Vec<Core> {
    let given = spans.iter().flatten().any(|span| !span.cores.is_empty());
    if !given {
        return Vec::new();
    }
    shared
        .cores
        .iter()
        .enumerate()
        .map(|(index, number)| Core {
            name: format!("core {number}"),
            segments: segments(index, spans),
        })
        .collect()
}

fn segments(core: usize, spans: &[Vec<SharedSpan>]) -> Vec<Segment> {
    // When programs come (true) and go.
    let mut changes: Vec<(u64, bool, usize)> = Vec::new();
    for (program, own) in spans.iter().enumerate() {
        for span in own.iter().filter(|span| span.cores.contains(&core)) {
            changes.push((span.begin_ns, true, program));
            changes.push((span.end_ns, false, program));
        }
    }
    changes.sort_unstable();
    let mut all = Vec::new();
    let mut here = BTreeSet::new();
    let mut since = 0;
    for (when, comes, program) in changes {
        if when > since
            && let Some(first) = here.first()
        {
            let mix = (here.len() > 1).then(|| {
                let share = 100 / here.len();
                here.iter().flat_map(|one| [*one, share]).collect()
            });
            all.push((since, when, 0, *first, mix));
        }
        since = when;
        if comes {
            here.insert(program);
        } else {
            here.remove(&program);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin_ns: u64, end_ns: u64, cores: &[usize]) -> SharedSpan {
        SharedSpan {
            begin_ns,
            end_ns,
            threads: cores.len() as u32,
            instances: 1,
            cores: cores.to_vec(),
            ..SharedSpan::default()
        }
    }

    #[test]
    fn a_core_that_two_have_is_shown_as_shared() {
        let spans = [
            vec![span(0, 10, &[0, 1]), span(20, 30, &[0])],
            vec![span(5, 25, &[1])],
        ];
        assert_eq!(
            segments(0, &spans),
            [(0, 10, 0, 0, None), (20, 30, 0, 0, None)]
        );
        assert_eq!(
            segments(1, &spans),
            [
                (0, 5, 0, 0, None),
                (5, 10, 0, 0, Some(vec![0, 50, 1, 50])),
                (10, 25, 0, 1, None)
            ]
        );
    }

    #[test]
    fn many_spans_are_joined_and_none_is_lost() {
        let many: Vec<SharedSpan> = (0..50_000)
            .map(|at| span(at * 10, at * 10 + 5, &[0]))
            .collect();
        let few = joined(&many);
        assert!(few.len() <= 2 * SPANS_MAX + 1, "{}", few.len());
        assert_eq!(few.iter().map(|one| one.instances).sum::<u64>(), 50_000);
        assert_eq!(few.last().map(|one| one.end_ns), Some(499_995));
        assert!(
            few.windows(2)
                .all(|pair| pair[0].end_ns <= pair[1].begin_ns)
        );
    }

    #[test]
    fn a_page_without_any_region_says_so() {
        let shared = Shared {
            programs: vec![SharedProgram {
                name: "1-<a>".to_owned(),
                ..SharedProgram::default()
            }],
            ..Shared::default()
        };
        let page = crate::share::share_page(&shared).unwrap();
        assert!(page.contains("no parallel region") && page.contains("1-&lt;a&gt;"));
    }
}
