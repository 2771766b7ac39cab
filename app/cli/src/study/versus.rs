//! The regions of one program on several runtimes, side by side: times, ratios, and in which
//! state of its threads a difference lies.

use fathomp_analysis::{Analysis, Region, SiteKind, State};
use fathomp_report::runtimes::{Column, Difference, Parts, Ratio, Row, Versus};
use fathomp_report::text::Grid;
use fathomp_stats::{Interval, Random, median, percentile_interval};
use fathomp_types::text::NO_TERMINAL;
use fathomp_types::units;

/// Draws of each bootstrap interval.
const DRAWS: usize = 2000;

fn parts_of(region: &Region) -> Parts {
    let ns = |states: &[State]| -> f64 {
        let each = states.iter().map(|state| region.states[*state] as f64);
        each.sum()
    };
    let work_ns = ns(&[State::Compute]);
    let barrier_ns = ns(&[State::ImplicitBarrier, State::ExplicitBarrier]);
    let scheduling_ns = ns(&[State::Overhead]);
    let exclusion_ns = ns(&[State::Critical, State::Lock, State::Ordered]);
    let tasks_ns = ns(&[State::TaskWait]);
    let told = work_ns + barrier_ns + scheduling_ns + exclusion_ns + tasks_ns;
    Parts {
        work_ns,
        barrier_ns,
        scheduling_ns,
        exclusion_ns,
        tasks_ns,
        other_ns: (region.states.total_ns() as f64 - told).max(0.0),
    }
}

fn median_parts(all: &[Parts]) -> Parts {
    let of = |part: fn(&Parts) -> f64| {
        let values: Vec<f64> = all.iter().map(part).collect();
        median(&values).unwrap_or(0.0)
    };
    Parts {
        work_ns: of(|parts| parts.work_ns),
        barrier_ns: of(|parts| parts.barrier_ns),
        scheduling_ns: of(|parts| parts.scheduling_ns),
        exclusion_ns: of(|parts| parts.exclusion_ns),
        tasks_ns: of(|parts| parts.tasks_ns),
        other_ns: of(|parts| parts.other_ns),
    }
}

/// The part that differs most from another runtime's in the direction of the whole.
fn difference(parts: &Parts, from: &Parts, longer: bool) -> Option<Difference> {
    let pairs = parts.each().into_iter().zip(from.each());
    let signed = pairs.map(|((part, here), (_, there))| (part, here - there));
    let along = signed.filter(|(_, more)| (*more > 0.0) == longer);
    along
        .max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))
        .map(|(part, longer_ns)| Difference { part, longer_ns })
}
/// What the runs of each runtime say, `runs[runtime][round]`.
pub(crate) fn compare(threads: u32, runtimes: &[String], runs: &[Vec<Analysis>]) -> Versus {
    let mut keys: Vec<(&str, &str, f64)> = Vec::new();
    for region in runs.iter().flatten().flat_map(|run| &run.regions) {
        let ns = region.wall_ns as f64;
        match keys.iter_mut().find(|known| known.0 == region.key) {
            Some(known) => known.2 += ns,
            None if region.kind == SiteKind::Serial => {
                keys.push((&region.key, "outside regions", ns));
            }
            None => keys.push((&region.key, &region.name, ns)),
        }
    }
    keys.sort_by(|one, other| other.2.total_cmp(&one.2));
    let rows = keys.into_iter().map(|(key, name, _)| {
        let seen = |run: &Analysis| {
            let found = run.regions.iter().find(|region| region.key == key)?;
            Some((found.wall_ns, found.instances, parts_of(found)))
        };
        row(name, runs, seen)
    });
    let whole = |run: &Analysis| {
        let mut parts = Parts::default();
        for region in &run.regions {
            let more = parts_of(region);
            parts.work_ns += more.work_ns;
            parts.barrier_ns += more.barrier_ns;
            parts.scheduling_ns += more.scheduling_ns;
            parts.exclusion_ns += more.exclusion_ns;
            parts.tasks_ns += more.tasks_ns;
            parts.other_ns += more.other_ns;
        }
        Some((run.wall_ns, 1, parts))
    };
    Versus {
        threads,
        runtimes: runtimes.to_vec(),
        program: row("the program", runs, whole),
        regions: rows.collect(),
    }
}

fn row(
    name: &str,
    runs: &[Vec<Analysis>],
    seen: impl Fn(&Analysis) -> Option<(u64, u64, Parts)>,
) -> Row {
    let all: Vec<Vec<Option<(u64, u64, Parts)>>> = runs
        .iter()
        .map(|runs| runs.iter().map(&seen).collect())
        .collect();
    let mut columns: Vec<Option<Column>> = Vec::new();
    for runs in &all {
        let some: Vec<_> = runs.iter().flatten().collect();
        let samples_ns: Vec<u64> = some.iter().map(|run| run.0).collect();
        let times: Vec<f64> = samples_ns.iter().map(|ns| *ns as f64).collect();
        let Some(time_ns) = median(&times) else {
            columns.push(None);
            continue;
        };
        let parts: Vec<Parts> = some.iter().map(|run| run.2).collect();
        let parts = median_parts(&parts);
        let first = columns.first().and_then(Option::as_ref);
        // Rounds in which both were executed.
        let rounds = all.first().into_iter().flatten().zip(runs);
        let ratios: Vec<f64> = rounds
            .filter_map(|(one, other)| Some((one.as_ref()?.0, other.as_ref()?.0)))
            .filter(|(one, _)| *one > 0)
            .map(|(one, other)| other as f64 / one as f64)
            .collect();
        let ratio = first.and_then(|_| ratio(&ratios));
        let difference = first.zip(ratio).and_then(|(first, ratio)| {
            let differs = ratio
                .interval
                .is_some_and(|interval| !interval.contains(1.0));
            let difference = difference(&parts, &first.parts, ratio.value > 1.0);
            difference.filter(|_| differs)
        });
        columns.push(Some(Column {
            executions: some.first().map_or(0, |run| run.1),
            time_ns,
            samples_ns,
            ratio,
            parts,
            difference,
        }));
    }
    Row {
        name: name.to_owned(),
        columns,
    }
}

/// The median of ratios of rounds, with its interval.
fn ratio(ratios: &[f64]) -> Option<Ratio> {
    let value = median(ratios)?;
    let mut resampler = Random(1);
    let draws: Vec<f64> = (0..DRAWS)
        .filter_map(|_| median(&resampler.draw(ratios)))
        .collect();
    Some(Ratio {
        value,
        interval: percentile_interval(&draws)
            .filter(|_| ratios.len() > 1)
            .map(|interval| interval.around(value)),
    })
}

/// The table that people read.
pub(crate) fn text(versus: &Versus) -> String {
    let threads = units::plural(versus.threads.into(), "thread");
    let text = format!(
        "With {threads}, times and ratios to {}:\n\n",
        versus.name(0)
    );
    let mut grid = Grid::new("Region");
    for at in 0..versus.runtimes.len() {
        grid = grid.column(versus.name(at), 0);
    }
    grid = grid.words("Difference", 0);
    for row in [&versus.program].into_iter().chain(&versus.regions) {
        let cells = row.columns.iter().map(Option::as_ref);
        let mut cells: Vec<String> = cells.map(|one| one.map_or("-".to_owned(), cell)).collect();
        let columns = row.columns.iter().enumerate();
        let differences = columns.filter_map(|(at, column)| {
            let difference = column.as_ref()?.difference.as_ref()?;
            let sign = if difference.longer_ns > 0.0 { "+" } else { "-" };
            let longer = duration(difference.longer_ns.abs());
            Some(format!(
                "{}: {} {sign}{longer}",
                versus.name(at),
                difference.part
            ))
        });
        cells.push(differences.collect::<Vec<_>>().join("; "));
        grid.row(&row.name, cells);
    }
    text + &grid.render(NO_TERMINAL)
}

fn cell(column: &Column) -> String {
    let time = duration(column.time_ns);
    match column.ratio {
        None => time,
        Some(Ratio {
            value,
            interval: Some(Interval { low, high }),
        }) => format!("{time} {value:.2} ({low:.2} to {high:.2})"),
        Some(Ratio { value, .. }) => format!("{time} {value:.2}"),
    }
}

fn duration(ns: f64) -> String {
    units::duration(ns.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_rounds_and_certain_only_of_several() {
        let one = ratio(&[2.0]).unwrap();
        assert!(one.interval.is_none() && (one.value - 2.0).abs() < 1e-12);
        let many = ratio(&[2.0, 2.1, 1.9, 2.0, 2.05]).unwrap();
        let interval = many.interval.unwrap();
        assert!(interval.contains(2.0) && !interval.contains(1.0));
        assert!(ratio(&[]).is_none());
    }

    #[test]
    fn a_difference_lies_where_most_of_it_is() {
        let first = Parts {
            work_ns: 100.0,
            barrier_ns: 10.0,
            ..Parts::default()
        };
        let second = Parts {
            work_ns: 110.0,
            barrier_ns: 90.0,
            ..Parts::default()
        };
        let longer = difference(&second, &first, true).unwrap();
        assert_eq!((longer.part, longer.longer_ns), ("barrier", 80.0));
        let shorter = difference(&first, &second, false).unwrap();
        assert_eq!((shorter.part, shorter.longer_ns), ("barrier", -80.0));
    }
}
