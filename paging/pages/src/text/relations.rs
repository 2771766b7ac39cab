//! How tasks relate: correlation beside what chance gives, periods, moments at which
//! most page at once; and what has to bear it.

use super::options::INDENT;
use crate::facts::PagingFacts;
use crate::section::choice::Chosen;
use crate::section::words;
use fathomp_paging::TaskId;
use fathomp_report::text::{Grid, printable, wrapped};
use fathomp_skyline::{Axis, Correlation, Measure, Period, Resource};
use fathomp_types::units::{self, duration, percent, ratio};

/// Points of synchronisation that are listed.
const POINTS_MAX: usize = 8;
/// Groups of tasks that are listed.
const GROUPS_MAX: usize = 6;
/// Tasks of a group that are named.
const NAMED_MAX: usize = 6;

/// Means over all pairs of tasks.
pub(super) fn correlations(
    paging: &PagingFacts,
    chosen: &[Chosen<'_>],
    width: usize,
) -> Option<String> {
    let mut grid = Grid::new("Tasks alike in")
        .words("Time", 0)
        .column("Pairs", 3)
        .column("C", 0)
        .column("chance", 0)
        .column("Amplitude", 1)
        .column("r", 0)
        .column("chance", 0)
        .column("r at best lag", 2)
        .column("Overlap", 2)
        .column("p", 1);
    let mut said = Vec::new();
    for one in chosen {
        let both = [&one.profile.correlation, &one.profile.correlation_in_phases];
        for correlation in both.into_iter().flatten() {
            let axis = match correlation.axis {
                Axis::Wall => "wall time",
                Axis::Phases => "phases",
            };
            let name = words::counter(one.facts.counter);
            let mut cells = cells(correlation);
            cells.insert(0, axis.to_owned());
            grid.row(name, cells);
            let groups = groups(paging, correlation);
            said.extend(groups.map(|groups| format!("{name}, {axis}: {groups}")));
        }
    }
    if grid.is_empty() {
        return None;
    }
    let mut text = grid.render(width);
    let explanation = "C: part of the peaks that coincide (SPIKE synchronisation); r: correlation of counts, without what longer phases explain; chance: what 95 of 100 shifted records stay below; p: part of the shifts that are as alike.";
    text.push_str(&wrapped(explanation, width, ""));
    for sentence in said {
        text.push_str(INDENT);
        text.push_str(&wrapped(&sentence, width - INDENT.len(), INDENT));
    }
    Some(text)
}

fn cells(correlation: &Correlation) -> Vec<String> {
    let pairs = correlation.times.values().len();
    vec![
        units::short_count(pairs as u64),
        ratio(correlation.times.mean()),
        ratio(correlation.times_by_chance.mean()),
        ratio(correlation.amplitude.mean()),
        ratio(correlation.partial.mean()),
        ratio(correlation.partial_by_chance.mean()),
        ratio(correlation.signals_at_best_lag.mean()),
        ratio(correlation.overlap.mean()),
        ratio(correlation.significance.p),
    ]
}

/// Which tasks are alike, if chance does not explain it.
fn groups(paging: &PagingFacts, correlation: &Correlation) -> Option<String> {
    let one_group = correlation.clusters.len() == 1 && correlation.unlike.is_none();
    let is_said = correlation.significance.is_significant() && !correlation.clusters.is_empty();
    if !is_said || one_group {
        return None;
    }
    let names = |tasks: &[TaskId]| {
        let mut names: Vec<String> = tasks
            .iter()
            .take(NAMED_MAX)
            .map(|task| printable(&paging.label(*task)))
            .collect();
        if tasks.len() > NAMED_MAX {
            names.push(format!("{} more", tasks.len() - NAMED_MAX));
        }
        names.join(", ")
    };
    let by = match correlation.measure {
        Measure::Times => "C",
        Measure::Signals => "r",
    };
    let mut groups: Vec<String> = correlation
        .clusters
        .iter()
        .take(GROUPS_MAX)
        .map(|cluster| {
            format!(
                "{} ({by} {})",
                names(&cluster.tasks),
                ratio(cluster.similarity)
            )
        })
        .collect();
    if correlation.clusters.len() > GROUPS_MAX {
        groups.push(format!(
            "{} more groups",
            correlation.clusters.len() - GROUPS_MAX
        ));
    }
    let mut text = format!("alike are {}", groups.join("; "));
    if let Some(unlike) = correlation.unlike {
        text.push_str(&format!(
            "; unlike the others is {} ({by} {} against {})",
            printable(&paging.label(unlike.task)),
            ratio(unlike.similarity),
            ratio(unlike.others)
        ));
    }
    Some(text + ".")
}

/// What repeats.
pub(super) fn periods(chosen: &[Chosen<'_>], width: usize) -> Option<String> {
    let mut grid = Grid::new("Repeats")
        .words("In", 0)
        .column("Every", 0)
        .column("Steps", 1)
        .column("r", 0)
        .column("Least r", 2)
        .column("Times", 1);
    for one in chosen {
        let phases = one.profile.phases.as_ref().and_then(|phases| phases.period);
        for (axis, period) in [("wall time", one.profile.period), ("phases", phases)] {
            let Some(period) = period else { continue };
            let mut cells = vec![axis.to_owned()];
            cells.extend(period_cells(&period));
            grid.row(words::counter(one.facts.counter), cells);
        }
    }
    (!grid.is_empty()).then(|| grid.render(width))
}

fn period_cells(period: &Period) -> [String; 5] {
    [
        duration(period.ns),
        ratio(period.steps),
        ratio(period.r),
        ratio(period.r_least),
        ratio(period.repeats),
    ]
}

/// When most tasks are in a peak at once.
pub(super) fn synchronisation(chosen: &[Chosen<'_>], width: usize) -> Option<String> {
    let mut text = String::new();
    for one in chosen {
        let Some(found) = &one.profile.synchronisation else {
            continue;
        };
        if found.points.is_empty() || found.points.len() as f64 <= found.points_by_chance {
            continue;
        }
        let more = format!(
            "{}: {} at which most tasks page at once, where chance gives {} (p {}).",
            words::counter(one.facts.counter),
            units::plural(found.points.len() as u64, "moment"),
            ratio(found.points_by_chance),
            ratio(found.p)
        );
        if !text.is_empty() {
            text.push_str(INDENT);
            text.push_str(&wrapped(&more, width - INDENT.len(), INDENT));
            continue;
        }
        // The moments themselves of the counter that says most.
        let mut grid = Grid::new("Most tasks in a peak at")
            .column("Length", 1)
            .column("Tasks", 0)
            .words("Barrier", 0);
        for point in found.points.iter().take(POINTS_MAX) {
            let barrier = match &point.barrier {
                Some(near) if near.name.is_empty() => "without a name".to_owned(),
                Some(near) => printable(&near.name),
                None => units::NOTHING.to_owned(),
            };
            grid.row(
                duration(point.from_ns as f64),
                vec![
                    duration(point.to_ns.saturating_sub(point.from_ns) as f64),
                    format!("{} of {}", point.tasks, found.tasks),
                    barrier,
                ],
            );
        }
        text.push_str(&grid.render(width));
        text.push_str(INDENT);
        text.push_str(&wrapped(&more, width - INDENT.len(), INDENT));
    }
    (!text.is_empty()).then_some(text)
}

/// Where pages came from.
pub(super) fn servers(paging: &PagingFacts, width: usize) -> Option<String> {
    let mut grid = Grid::new("Pages come from")
        .column("Pages", 0)
        .column("Share", 0)
        .column("Highest", 1);
    for server in &paging.analysis.servers {
        let highest = server
            .skyline
            .peaks
            .iter()
            .map(|peak| peak.highest_per_second)
            .fold(0.0, f64::max);
        grid.row(
            printable(&server.label),
            vec![
                units::short_count(server.total),
                percent(server.share),
                match highest {
                    0.0 => units::NOTHING.to_owned(),
                    rate => words::rate(server.counter, rate),
                },
            ],
        );
    }
    (!grid.is_empty()).then(|| grid.render(width))
}

/// The highest load on memory, disks and network.
pub(super) fn loads(paging: &PagingFacts, width: usize) -> Option<String> {
    let mut grid = Grid::new("Highest load on")
        .column("Bytes", 0)
        .column("Pages", 1)
        .column("On average", 2)
        .column("From", 1)
        .column("For", 1);
    for load in &paging.analysis.loads {
        grid.row(
            load.resource.title(),
            vec![
                match load.resource {
                    Resource::Memory => units::NOTHING.to_owned(),
                    _ => format!("{}/s", units::bytes(load.bytes_per_second.max(0.0) as u64)),
                },
                format!("{}/s", ratio(load.pages_per_second)),
                format!("{}/s", ratio(load.mean_pages_per_second)),
                duration(load.from_ns as f64),
                duration(load.to_ns.saturating_sub(load.from_ns) as f64),
            ],
        );
    }
    (!grid.is_empty()).then(|| grid.render(width))
}
