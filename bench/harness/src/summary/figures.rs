//! What is worth a picture: values over a parameter, and over team sizes.
//!
//! A figure is data; pages and gnuplot files draw the same figures.

use super::{ColumnFacts, Point, Quantity, Summary, size};
use crate::suite::SuiteName;
use std::collections::{BTreeMap, BTreeSet};

/// A logarithmic axis is worth it from this ratio of its ends.
pub(super) const DECADES: f64 = 30.0;

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// A name for files and links.
    pub id: String,
    /// What it belongs to.
    pub suite: SuiteName,
    /// See `suite`.
    pub group: String,
    /// What it shows.
    pub title: String,
    /// What is held fixed.
    pub fixed: String,
    /// What varies: `threads` or a parameter's name.
    pub x: String,
    /// The unit of what varies.
    pub x_unit: String,
    /// What is drawn.
    pub quantity: Quantity,
    /// What the vertical axis is called.
    pub y: String,
    /// Its unit.
    pub y_unit: String,
    /// The vertical axis is better logarithmic.
    pub y_logarithmic: bool,
    /// One per column that has values.
    pub series: Vec<Series>,
    /// Clock cycles in a unit of the vertical axis, if all series agree on them.
    pub cycles_per_unit: Option<f64>,
    /// Places on the horizontal axis with a meaning.
    pub marks: Vec<(f64, String)>,
    /// The curves are cases of one column, not columns.
    pub family: bool,
}

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Index of the column.
    pub column: usize,
    /// Number of its colour.
    pub colour: usize,
    /// Its name.
    pub name: String,
    /// Position, value, lower and upper end of the interval; ascending.
    pub points: Vec<[f64; 4]>,
}

/// The team size that figures over a parameter show: the largest that had a
/// processor for each thread, or the smallest of all.
fn shown_threads(summary: &Summary, suite: SuiteName) -> Option<u32> {
    let sizes = || {
        let of_suite = summary
            .points
            .iter()
            .filter(move |point| point.suite == suite);
        of_suite.map(|point| point.threads)
    };
    let fits = |threads: &u32| {
        summary
            .columns
            .iter()
            .any(|column| column.has_room(*threads))
    };
    sizes().filter(fits).max().or_else(|| sizes().min())
}

impl Figure {
    /// Nanoseconds in a unit of the vertical axis, of times.
    #[must_use]
    pub fn ns_per_unit(&self) -> f64 {
        let unit = UNITS.iter().find(|(name, _)| self.y_unit.starts_with(name));
        unit.map_or(1.0, |(_, ns)| *ns)
    }
}

/// Figures of rows, in the order of tables.
pub(super) fn of_rows(summary: &Summary) -> Vec<Figure> {
    let mut rows: Vec<Vec<&Point>> = Vec::new();
    for point in &summary.points {
        match rows.iter_mut().find(|row| {
            row.first().is_some_and(|first| {
                (first.suite, &first.case.row) == (point.suite, &point.case.row)
            })
        }) {
            Some(row) => row.push(point),
            None => rows.push(vec![point]),
        }
    }
    let mut figures = Vec::new();
    for row in rows {
        let Some(first) = row.first() else { continue };
        let Some(threads) = shown_threads(summary, first.suite) else {
            continue;
        };
        let at_team: Vec<&Point> = row
            .iter()
            .copied()
            .filter(|p| p.threads == threads)
            .collect();
        for parameter in 0..first.case.values.len() {
            figures.extend(over_parameter(summary, &at_team, parameter));
        }
        figures.extend(over_threads(summary, &row));
    }
    let cycles: Vec<Figure> = figures
        .iter()
        .filter_map(|one| in_cycles(summary, one))
        .collect();
    figures.extend(cycles);
    figures
}

/// What other parameters are held at while one varies, so that effects are
/// clearest: chunks at their smallest, where they cost most, sizes at their
/// largest. Costs per MB at the size where most is surely seen: an array that
/// fits no cache is slow whether it is shared or not.
fn held(points: &[&Point], parameter: usize) -> Option<u64> {
    let value = |point: &&Point| point.case.values.get(parameter).copied();
    let values = points.iter().filter_map(value);
    let first = points.first()?;
    if first.parameters.get(parameter)?.0.contains("chunk") {
        return values.min();
    }
    if first.quantity != Quantity::OverheadNsPerMb {
        return values.max();
    }
    let seen = |point: &&Point| {
        let estimates = (0..point.entries.len()).filter_map(|column| point.estimate(column));
        let lows = estimates.map(|estimate| estimate.interval.low);
        lows.fold(f64::NEG_INFINITY, f64::max)
    };
    let clearest = points.iter().max_by(|a, b| seen(a).total_cmp(&seen(b)));
    clearest.and_then(value)
}

fn over_parameter(summary: &Summary, points: &[&Point], parameter: usize) -> Option<Figure> {
    let first = points.first()?;
    let (name, unit) = first.parameters.get(parameter)?.clone();
    let others: Vec<(usize, u64)> = (0..first.parameters.len())
        .filter(|other| *other != parameter)
        .filter_map(|other| Some((other, held(points, other)?)))
        .collect();
    let chosen: Vec<&Point> = points
        .iter()
        .copied()
        .filter(|point| {
            others
                .iter()
                .all(|(at, value)| point.case.values[*at] == *value)
        })
        .collect();
    let x = |point: &Point| point.case.values[parameter] as f64;
    let mut figure = figure(summary, &chosen, x)?;
    let number = summary.team(first.threads, &columns(&figure));
    let mut fixed = vec![number];
    fixed.extend(others.iter().map(|(at, value)| {
        let (name, unit) = &first.parameters[*at];
        setting(name, *value, unit)
    }));
    figure.id = slug(&format!("{} {} {name}", first.suite.name(), first.stem));
    figure.x = name.replace('_', " ");
    figure.x_unit = unit;
    figure.fixed = fixed.join(", ");
    if first.group == "latency" {
        figure.marks = marks(summary, &first.case.row);
    }
    Some(figure)
}

fn over_threads(summary: &Summary, points: &[&Point]) -> Option<Figure> {
    let first = points.first()?;
    let held: Vec<u64> = (0..first.parameters.len())
        .filter_map(|parameter| held(points, parameter))
        .collect();
    let chosen: Vec<&Point> = points
        .iter()
        .copied()
        .filter(|point| point.case.values == held && has_place(summary, point))
        .collect();
    let mut figure = figure(summary, &chosen, |point| f64::from(point.threads))?;
    let values = first.parameters.iter().zip(&held);
    let fixed: Vec<String> = values
        .map(|((name, unit), value)| setting(name, *value, unit))
        .collect();
    // By the whole name: REDUCTION and REDUCTION n are two rows.
    figure.id = slug(&format!(
        "{} {} threads",
        first.suite.name(),
        first.case.row
    ));
    figure.x = summary.members(&columns(&figure)).to_owned();
    figure.fixed = fixed.join(", ");
    Some(figure)
}

/// The columns that a figure shows.
fn columns(figure: &Figure) -> Vec<usize> {
    figure.series.iter().map(|one| one.column).collect()
}

/// The figure of these points; `None` if nothing varies.
fn figure(summary: &Summary, points: &[&Point], x: impl Fn(&Point) -> f64) -> Option<Figure> {
    let first = points.first()?;
    let mut series: Vec<Series> = Vec::new();
    for column in 0..summary.columns.len() {
        let mut found: Vec<[f64; 4]> = points
            .iter()
            .filter_map(|point| {
                let estimate = point.estimate(column)?;
                let interval = estimate.interval;
                Some([x(point), estimate.value, interval.low, interval.high])
            })
            .collect();
        found.sort_by(|a, b| a[0].total_cmp(&b[0]));
        if !found.is_empty() {
            series.push(Series {
                column,
                colour: column,
                name: summary.columns[column].name.clone(),
                points: found,
            });
        }
    }
    if series.iter().all(|one| one.points.len() < 2) {
        return None;
    }
    let values = || {
        series
            .iter()
            .flat_map(|one| one.points.iter().map(|point| point[1]))
    };
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(0.0, f64::max);
    let cycles = one_clock(summary, &series).filter(|_| first.quantity.is_time());
    Some(Figure {
        id: String::new(),
        suite: first.suite,
        group: first.group.clone(),
        title: first.case.row.clone(),
        fixed: String::new(),
        x: String::new(),
        x_unit: String::new(),
        quantity: first.quantity,
        y: first.quantity.title().to_owned(),
        y_unit: first.quantity.unit().to_owned(),
        y_logarithmic: least > 0.0 && most > DECADES * least,
        series,
        cycles_per_unit: cycles,
        marks: Vec::new(),
        family: false,
    })
}

/// Clock cycles in a nanosecond, if the columns of all series are of one machine, whose clock is
/// measured anew each time, or of machines with the same clock.
fn one_clock(summary: &Summary, series: &[Series]) -> Option<f64> {
    let columns = || series.iter().map(|one| &summary.columns[one.column]);
    let first = columns().next()?;
    let rate = first.cycles_per_ns?;
    let agrees = |other: &ColumnFacts| {
        let is_close = |other: f64| (other / rate - 1.0).abs() < 0.02;
        let is_here = (&other.host, &other.processor) == (&first.host, &first.processor);
        other
            .cycles_per_ns
            .is_some_and(|other| is_here || is_close(other))
    };
    columns().all(agrees).then_some(rate)
}

/// The same in clock cycles of each column, where machines' clocks differ so that one axis
/// cannot show both.
fn in_cycles(summary: &Summary, figure: &Figure) -> Option<Figure> {
    let rate = |one: &Series| summary.columns[one.column].cycles_per_ns;
    let rates: Option<Vec<f64>> = figure.series.iter().map(rate).collect();
    let rates = rates.filter(|all| all.len() > 1 && figure.cycles_per_unit.is_none())?;
    if !figure.quantity.is_time() {
        return None;
    }
    let mut figure = figure.clone();
    for (series, rate) in figure.series.iter_mut().zip(rates) {
        for [_, value, low, high] in &mut series.points {
            (*value, *low, *high) = (*value * rate, *low * rate, *high * rate);
        }
    }
    figure.id.push_str("-cycles");
    figure.title.push_str(" in clock cycles");
    figure.y_unit = figure.y_unit.replace("ns", "cycles");
    Some(figure)
}

/// Names of the units of times, and how many nanoseconds these are, longest first.
const UNITS: [(&str, f64); 2] = [("ms", 1e6), ("µs", 1e3)];

/// The longest unit of which there is more than one in so much at `most` of a unit, and how many
/// of these it is.
pub(super) fn readable_unit(unit: &str, most: f64) -> (String, f64) {
    let longer = UNITS.iter().find(|(_, ns)| most >= *ns);
    match longer.filter(|_| unit.starts_with("ns")) {
        Some((name, ns)) => (unit.replacen("ns", name, 1), *ns),
        None => (unit.to_owned(), 1.0),
    }
}

/// In the longest unit of which there is more than one: milliseconds on nodes and microseconds on
/// threads, as the papers have it.
pub(super) fn in_readable_unit(mut figure: Figure) -> Figure {
    let values = figure.series.iter().flat_map(|one| &one.points);
    let most = values.map(|point| point[1].abs()).fold(0.0, f64::max);
    let (unit, ns) = readable_unit(&figure.y_unit, most);
    if unit == figure.y_unit {
        return figure;
    }
    for [_, value, low, high] in figure.series.iter_mut().flat_map(|one| &mut one.points) {
        (*value, *low, *high) = (*value / ns, *low / ns, *high / ns);
    }
    figure.y_unit = unit;
    figure.cycles_per_unit = figure.cycles_per_unit.map(|rate| rate * ns);
    figure
}

/// Whether a point has a place in a figure over threads. One thread has nobody to be consistent
/// with: what it costs is noise, for which logarithmic axes have no place. It stays where nothing
/// else would be left of the curve.
pub(super) fn has_place(summary: &Summary, point: &Point) -> bool {
    if point.threads > 1 || point.group != "consistency" {
        return true;
    }
    let same = summary
        .points
        .iter()
        .filter(|other| other.group == point.group);
    let more: BTreeSet<u32> = same.map(|other| other.threads).filter(|n| *n > 1).collect();
    more.len() < 2
}

/// The effective cache sizes that the first column found.
fn marks(summary: &Summary, row: &str) -> Vec<(f64, String)> {
    let mut sizes: BTreeMap<u64, String> = BTreeMap::new();
    let finding = summary.caches.iter().find(|finding| finding.row == row);
    for level in finding.iter().flat_map(|finding| &finding.plateaus) {
        if !level.open {
            sizes.insert(level.bytes, format!("{:.1} ns", level.access_ns));
        }
    }
    sizes
        .into_iter()
        .map(|(bytes, words)| (bytes as f64, words))
        .collect()
}

/// What a parameter is held at.
fn setting(name: &str, value: u64, unit: &str) -> String {
    if unit == "bytes" {
        format!("{name} {}", size(value))
    } else {
        format!("{name} {value} {unit}")
    }
}

/// Lower-case letters, digits and hyphens.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{figures, summarise};
    use crate::synthetic;

    #[test]
    fn where_threads_are_nodes_figures_say_so() {
        let mut document = synthetic::epcc();
        document.columns[0].protocol = Some("home".to_owned());
        let x = |documents: &[_]| {
            let figures = figures(&summarise(documents, None));
            let over = figures.into_iter().find(|f| f.id == "epcc-barrier-threads");
            over.map(|figure| figure.x)
        };
        assert_eq!(x(&[document.clone()]).unwrap(), "threads or nodes");
        for column in &mut document.columns {
            column.protocol = Some("homeless".to_owned());
        }
        assert_eq!(x(&[document.clone()]).unwrap(), "nodes");
        let figures = figures(&summarise(&[document], None));
        let chunk = figures.iter().find(|f| f.id == "epcc-dynamic-chunk");
        assert_eq!(chunk.unwrap().fixed, "4 nodes");
    }

    #[test]
    fn parameters_and_team_sizes_become_figures() {
        let summary = summarise(
            &[synthetic::epcc(), synthetic::mcbench(), synthetic::access()],
            None,
        );
        let figures = figures(&summary);
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        for id in [
            "epcc-barrier-threads",
            "epcc-dynamic-chunk",
            "epcc-copyin-array",
            "mcbench-round-robin-chunk",
            "mcbench-round-robin-array",
            "mcbench-blocked-array",
            "access-chase-working-set",
            "access-copy-w-threads",
        ] {
            assert_eq!(
                ids.iter().filter(|found| **found == id).count(),
                1,
                "{id}: {ids:?}"
            );
        }
        let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
        let chase = figures
            .iter()
            .find(|f| f.id == "access-chase-working-set")
            .unwrap();
        assert_eq!(chase.marks.len(), 2, "{:?}", chase.marks);
        assert!(chase.y_logarithmic);
        let chunk = figures
            .iter()
            .find(|f| f.id == "mcbench-round-robin-chunk")
            .unwrap();
        let over = figures.iter().find(|f| f.id == "epcc-barrier-threads");
        assert_eq!(over.map(|figure| figure.x.as_str()), Some("threads"));
        assert_eq!(chunk.fixed, "4 threads, array 1 MiB");
        assert_eq!(chunk.series.len(), 2);
        assert_eq!(chunk.y_unit, "ms/MB");
        assert!((chunk.cycles_per_unit.unwrap() - 3e6).abs() < 1e-3);
    }

    #[test]
    fn machines_with_other_clocks_are_compared_in_cycles_too() {
        let mut other = synthetic::epcc();
        other.id.push('x');
        other.machine.host = "slow".to_owned();
        other.clocks.core_hz = Some(1.5e9);
        let figures = figures(&summarise(&[synthetic::epcc(), other], None));
        let find = |id: &str| figures.iter().find(|one| one.id == id).unwrap();
        let (ns, cycles) = (
            find("epcc-barrier-threads"),
            find("epcc-barrier-threads-cycles"),
        );
        assert_eq!(
            (ns.cycles_per_unit, cycles.y_unit.as_str()),
            (None, "cycles")
        );
        let last = ns.series.len() - 1;
        let ratio =
            cycles.series[last].points[0][1] / (ns.series[last].points[0][1] * ns.ns_per_unit());
        assert!((ratio - 1.5).abs() < 1e-9);
    }

    /// A clock is measured anew each time, and not the same by chance.
    #[test]
    fn one_machine_has_one_clock() {
        let mut again = synthetic::epcc();
        again.id.push('x');
        again.clocks.core_hz = Some(3.3e9);
        again.columns[0].runtime = "another".to_owned();
        let figures = figures(&summarise(&[synthetic::epcc(), again], None));
        assert!(figures.iter().all(|one| !one.id.ends_with("-cycles")));
        let over = figures.iter().find(|one| one.id == "epcc-barrier-threads");
        assert!(over.unwrap().cycles_per_unit.is_some());
    }

    #[test]
    fn names_of_files_are_harmless() {
        assert_eq!(slug("epcc LOCK/UNLOCK ../x"), "epcc-lock-unlock-x");
    }
}
