//! Tables: a row per case, a column per compiler and runtime, and what EPCC
//! would have printed.

use super::FoldedTable;
use crate::units;
use crate::view::table::{Cell, Column, Row, Table};
use fathomp_bench::suite::SuiteName;
use fathomp_bench::summary::{Entry, Estimate, OverTeams, Point, Quantity, Summary, Value};

/// A table per team size and quantity, then all statistics.
pub(super) fn folds(summary: &Summary, suite: SuiteName, columns: &[usize]) -> Vec<FoldedTable> {
    let mut sets: Vec<((u32, Quantity), Vec<&Point>)> = Vec::new();
    for point in summary.points.iter().filter(|point| point.suite == suite) {
        let key = (point.threads, point.quantity);
        match sets.iter_mut().find(|(known, _)| *known == key) {
            Some((_, points)) => points.push(point),
            None => sets.push((key, vec![point])),
        }
    }
    sets.retain(|(_, points)| points.iter().any(|point| summary.is_measured(point)));
    sets.sort_by_key(|(key, _)| *key);
    let mut folds: Vec<FoldedTable> = sets
        .iter()
        .map(|((threads, quantity), points)| FoldedTable {
            title: format!(
                "{} with {}",
                capital(quantity.title()),
                summary.team(*threads, columns)
            ),
            open: false,
            sentence: crowded(summary, columns, *threads),
            table: values(summary, suite, columns, points, (*threads, *quantity)),
        })
        .collect();
    let calculated = columns.iter().filter_map(|c| OverTeams::of(summary, *c));
    folds.extend(
        calculated
            .zip(0..)
            .map(|(teams, number)| over_teams(teams, suite, number)),
    );
    if let Some(last) = folds.last_mut() {
        last.open = true;
    }
    if sets.is_empty() {
        return folds;
    }
    let points: Vec<&Point> = sets
        .iter()
        .flat_map(|(_, points)| points.iter().copied())
        .collect();
    folds.push(FoldedTable {
        title: "All statistics".to_owned(),
        open: false,
        sentence: "As EPCC prints them (outliers are further than three standard deviations from the mean), of the paired differences where there is a reference, and both standard deviations: of all samples, and of the runs' means.".to_owned(),
        table: statistics(summary, suite, columns, &points),
    });
    folds
}

/// What was calculated for a column.
fn over_teams(teams: OverTeams, suite: SuiteName, number: usize) -> FoldedTable {
    let cases = teams.cases.into_iter();
    let cases = cases.map(|case| Column::number(case, "Calculated"));
    let first = Column::number(capital(teams.members), "Size of the team");
    let rows = teams.rows.into_iter().map(|(team, values)| {
        let value = |value| match value {
            Value::Of(value) => Cell::number(value, significant(value)),
            Value::Failed => Cell::number(f64::NAN, "failed"),
            Value::Absent => Cell::nothing(),
        };
        let team = Cell::number(f64::from(team), team.to_string());
        Row {
            id: String::new(),
            cells: [team]
                .into_iter()
                .chain(values.into_iter().map(value))
                .collect(),
        }
    });
    FoldedTable {
        title: teams.title,
        open: false,
        sentence: String::new(),
        table: Table {
            id: format!("{}-calculated-{number}", suite.name()),
            caption: String::new(),
            columns: [first].into_iter().chain(cases).collect(),
            rows: rows.collect(),
            sortable: true,
        },
    }
}

fn crowded(summary: &Summary, columns: &[usize], threads: u32) -> String {
    let fewest = columns
        .iter()
        .filter(|column| !summary.columns[**column].has_room(threads))
        .map(|column| summary.columns[*column].processors)
        .min();
    match fewest {
        Some(processors) => format!(
            "More threads than the {}: this shows how a runtime copes with that, not what constructs cost.",
            units::plural(processors as u64, "processor")
        ),
        _ => String::new(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn values(
    summary: &Summary,
    suite: SuiteName,
    columns: &[usize],
    points: &[&Point],
    (threads, quantity): (u32, Quantity),
) -> Table {
    let compared = points.iter().any(|point| point.against_best().is_some());
    let mut headings = vec![Column::text("Case", "Name of the row with its parameters")];
    if quantity.is_overhead() {
        headings.push(Column::number(
            "Work (ns)",
            "Median time of the same work without the construct",
        ));
    }
    for column in columns {
        headings.push(Column::number(
            format!("{} ({})", summary.columns[*column].name, quantity.unit()),
            "Median, and half the width of its 95 % interval; cycles on hovering",
        ));
    }
    if compared {
        headings.push(Column::number(
            "Ratio",
            "Subject over the best of the others",
        ));
        headings.push(Column::text("95 % interval", "Of the ratio"));
        headings.push(Column::text("Against", "The best of the others"));
    }
    let rows = points.iter().map(|point| {
        let mut cells = vec![Cell::name(point.name())];
        if quantity.is_overhead() {
            let work = columns
                .iter()
                .find_map(|column| point.estimate(*column)?.reference_ns);
            cells.push(work.map_or_else(Cell::nothing, |ns| Cell::number(ns, significant(ns))));
        }
        cells.extend(columns.iter().map(|column| {
            let rate = summary.columns[*column]
                .cycles_per_ns
                .filter(|_| quantity.is_time());
            entry(point.entries[*column].as_ref(), rate)
        }));
        if compared {
            cells.extend(ratio(summary, point));
        }
        Row {
            id: String::new(),
            cells,
        }
    });
    Table {
        id: format!(
            "{}-{}-{threads}",
            suite.name(),
            quantity.title().replace(' ', "-")
        ),
        caption: String::new(),
        columns: headings,
        rows: rows.collect(),
        sortable: true,
    }
}

fn entry(entry: Option<&Entry>, cycles_per_ns: Option<f64>) -> Cell {
    let Some(entry) = entry else {
        return Cell::nothing().hint("not measured here");
    };
    let Some(estimate) = &entry.estimate else {
        let reason = entry.failure.clone().unwrap_or_default();
        return Cell::number(f64::NAN, "failed").hint(reason);
    };
    let half = (estimate.interval.high - estimate.interval.low) / 2.0;
    let mut hint = format!(
        "95 % interval {} to {}",
        significant(estimate.interval.low),
        significant(estimate.interval.high)
    );
    if let Some(quiet) = estimate.quiet {
        hint.push_str(&format!("; {} when quiet", significant(quiet)));
    }
    if let Some(rate) = cycles_per_ns {
        hint.push_str(&format!(
            "; {} clock cycles",
            significant(estimate.value * rate)
        ));
    }
    if let Some(failure) = &entry.failure {
        hint.push_str(&format!("; but a process {failure}"));
    }
    let text = format!("{} ± {}", significant(estimate.value), significant(half));
    Cell::number(estimate.value, text).hint(hint)
}

fn ratio(summary: &Summary, point: &Point) -> [Cell; 3] {
    let Some(ratio) = point.against_best() else {
        return [Cell::nothing(), Cell::words(""), Cell::words("")];
    };
    let small = if ratio.at_floor {
        " (too small to see)"
    } else {
        ""
    };
    let all: Vec<String> = point
        .ratios
        .iter()
        .map(|one| {
            format!(
                "{} of {}",
                units::ratio(one.value),
                summary.columns[one.against].name
            )
        })
        .collect();
    [
        Cell::number(ratio.value, units::ratio(ratio.value)).hint(all.join("; ")),
        Cell::words(format!(
            "{} to {}",
            units::ratio(ratio.interval.low),
            units::ratio(ratio.interval.high)
        )),
        Cell::words(format!("{}{small}", summary.columns[ratio.against].name)),
    ]
}

fn statistics(summary: &Summary, suite: SuiteName, columns: &[usize], points: &[&Point]) -> Table {
    const TITLES: [(&str, &str); 10] = [
        ("Median", "Median over processes of medians over samples"),
        ("Mean", "Of all samples"),
        ("SD", "Standard deviation of all samples of all runs"),
        ("SD of runs", "Standard deviation of the runs' means"),
        ("Min", "Smallest sample"),
        ("Max", "Largest sample"),
        (
            "Outliers",
            "Further than three standard deviations from the mean",
        ),
        ("Samples", "Used"),
        ("Rejected", "A thread had lost its processor"),
        ("Runs", "Processes"),
    ];
    let mut headings = vec![
        Column::text("Case", "Name of the row with its parameters"),
        Column::number("Threads", "Size of the team"),
        Column::text("Column", "Compiler and runtime"),
        Column::text("Unit", "Of the values"),
    ];
    headings.extend(TITLES.map(|(title, hint)| Column::number(title, hint)));
    let row = |point: &Point, column: usize, estimate: &Estimate| {
        let (moments, runs) = (&estimate.moments, &estimate.over_runs);
        let number = |value: f64| Cell::number(value, significant(value));
        let count = |value: usize| Cell::number(value as f64, units::count(value as u64));
        Row {
            id: String::new(),
            cells: vec![
                Cell::name(point.name()),
                Cell::number(point.threads.into(), point.threads.to_string()),
                Cell::words(summary.columns[column].name.clone()),
                Cell::words(point.quantity.unit()),
                number(estimate.value),
                number(moments.mean),
                number(runs.sd_samples),
                runs.sd_runs.map_or_else(Cell::nothing, number),
                number(moments.min),
                number(moments.max),
                count(moments.outliers),
                count(moments.count),
                count(estimate.rejected),
                count(runs.runs),
            ],
        }
    };
    let rows = points.iter().flat_map(|point| {
        columns
            .iter()
            .filter_map(move |column| Some((*point, *column, point.estimate(*column)?)))
    });
    Table {
        id: format!("{}-statistics", suite.name()),
        caption: String::new(),
        columns: headings,
        rows: rows
            .map(|(point, column, estimate)| row(point, column, estimate))
            .collect(),
        sortable: true,
    }
}

/// Three significant digits, or all before the point.
fn significant(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => units::NOTHING.to_owned(),
        size if size < 9.95 => format!("{value:.2}"),
        size if size < 99.5 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
