//! Speedup and what limits it, over thread counts.

use super::colours::LegendEntry;
use super::regions::{self, Outlook};
use super::table::{Cell, Column, Row, Table};
use super::{curves, words};
use crate::chart::{Chart, Segment, Stack, column_chart};
use crate::{Input, units};
use fathomp_analysis::Analysis;
use fathomp_diagnosis::Diagnosis;
use fathomp_predict::{Point, Prediction, Term};
use fathomp_types::text;
use serde::Serialize;

/// Regions in the table of predictions.
const REGIONS_MAX: usize = 30;
/// Columns of bars in the chart of terms, and of times in the table.
const COUNTS_MAX: usize = 12;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Scaling {
    speedup: Chart,
    speedup_caption: String,
    terms: Option<Chart>,
    terms_legend: Vec<LegendEntry>,
    terms_caption: String,
    table: Option<Table>,
    regions: Option<Table>,
}

/// What is predicted for each region of `analysis`, by its index.
pub(crate) fn outlook(
    analysis: &Analysis,
    prediction: Option<&Prediction>,
    diagnosis: &Diagnosis,
) -> Vec<Option<Outlook>> {
    let Some(prediction) = prediction else {
        return Vec::new();
    };
    let of = |key: &str| prediction.regions.iter().find(|region| region.key == key);
    analysis
        .regions
        .iter()
        .map(|region| {
            of(&region.key).map(|one| Outlook {
                best_threads: Some(one.best_threads),
                limit: limit(diagnosis, &one.key),
                sentence: text::sentence(&diagnosis.of_prediction(one)),
            })
        })
        .collect()
}

/// What limits a region, in the words of the diagnosis.
fn limit(diagnosis: &Diagnosis, key: &str) -> String {
    diagnosis
        .of_region(key)
        .map_or_else(String::new, |cause| cause.title.clone())
}

/// The section, if there is more than one thread count to speak of.
pub(crate) fn build(input: &Input<'_>, diagnosis: &Diagnosis) -> Option<Scaling> {
    match input.prediction {
        Some(prediction) => Some(predicted(prediction, diagnosis)),
        None => measured_only(input.analyses),
    }
}

fn predicted(prediction: &Prediction, diagnosis: &Diagnosis) -> Scaling {
    let points = &prediction.points;
    let count = prediction.measured.len();
    Scaling {
        speedup: curves::program(prediction),
        speedup_caption: format!(
            "Speedup over one thread. Large points are measured ({}), small ones single runs, the band is the {} interval of the prediction; the dotted line is ideal, Amdahl's law and the universal scalability law are fitted to the same points.",
            units::plural(count as u64, "thread count"),
            units::percent(prediction.interval)
        ),
        terms: terms_chart(points),
        terms_legend: terms_legend(points),
        terms_caption: "Predicted time, and what it consists of.".to_owned(),
        table: Some(points_table(prediction)),
        regions: regions_table(prediction, diagnosis),
    }
}

fn measured_only(analyses: &[Analysis]) -> Option<Scaling> {
    let (speedup, base_threads) = curves::measured(analyses)?;
    let assumed = if base_threads > 1 {
        format!(
            " There is no run with one thread: speedups assume that {base_threads} threads are {base_threads} times as fast."
        )
    } else {
        String::new()
    };
    Some(Scaling {
        speedup,
        speedup_caption: format!(
            "Speedup over one thread, measured; the dotted line is ideal.{assumed}"
        ),
        terms: None,
        terms_legend: Vec::new(),
        terms_caption: String::new(),
        table: None,
        regions: None,
    })
}

/// At most [`COUNTS_MAX`] of the points: the ends and some between.
fn selection(points: &[Point]) -> Vec<&Point> {
    if points.len() <= COUNTS_MAX {
        return points.iter().collect();
    }
    let last = points.len() - 1;
    let mut chosen: Vec<usize> = (0..COUNTS_MAX)
        .map(|step| step * last / (COUNTS_MAX - 1))
        .collect();
    chosen.dedup();
    chosen.into_iter().map(|index| &points[index]).collect()
}

fn terms_of(points: &[Point]) -> Vec<Term> {
    Term::ALL
        .into_iter()
        .filter(|term| {
            points
                .iter()
                .flat_map(|point| &point.terms)
                .any(|one| one.term == *term && one.time_ns > 0.0)
        })
        .collect()
}

fn terms_legend(points: &[Point]) -> Vec<LegendEntry> {
    terms_of(points)
        .into_iter()
        .map(|term| LegendEntry {
            class: term.name(),
            name: words::term(term),
        })
        .collect()
}

fn terms_chart(points: &[Point]) -> Option<Chart> {
    let terms = terms_of(points);
    let stacks: Vec<Stack> = selection(points)
        .into_iter()
        .map(|point| Stack {
            name: point.threads.to_string(),
            segments: terms
                .iter()
                .filter_map(|term| point.terms.iter().find(|one| one.term == *term))
                .map(|one| Segment {
                    class: one.term.name().to_owned(),
                    name: format!("{} threads, {}", point.threads, words::term(one.term)),
                    ns: one.time_ns,
                })
                .collect(),
        })
        .collect();
    (!terms.is_empty()).then(|| {
        column_chart(
            "Predicted time over threads by term".to_owned(),
            "threads",
            "time",
            &stacks,
        )
    })
}

fn points_table(prediction: &Prediction) -> Table {
    let rows = prediction.points.iter().map(|point| {
        let mut doubts = Vec::new();
        if point.extrapolated {
            doubts.push("beyond what was measured".to_owned());
        }
        if point.oversubscribed {
            doubts.push("more threads than processors".to_owned());
        }
        let measured = prediction
            .measured
            .iter()
            .find(|one| one.threads == point.threads);
        Row {
            id: String::new(),
            cells: vec![
                Cell::number(f64::from(point.threads), point.threads.to_string()),
                Cell::number(point.time_ns, units::duration(point.time_ns)),
                Cell::number(
                    point.high_ns - point.low_ns,
                    format!(
                        "{} to {}",
                        units::duration(point.low_ns),
                        units::duration(point.high_ns)
                    ),
                ),
                point
                    .measured_ns
                    .map_or_else(Cell::nothing, |ns| Cell::number(ns, units::duration(ns))),
                Cell::number(point.speedup, units::ratio(point.speedup)),
                measured.map_or_else(Cell::nothing, |one| {
                    Cell::number(one.speedup, units::ratio(one.speedup))
                }),
                Cell::words(doubts.join(", ")),
            ],
        }
    });
    Table {
        id: "prediction-table".to_owned(),
        caption: String::new(),
        columns: vec![
            Column::number("Threads", ""),
            Column::number("Predicted time", "The whole program"),
            Column::number("Interval", "Where the time is expected"),
            Column::number("Measured time", "Median of the runs with this many threads"),
            Column::number("Predicted speedup", "Over one thread"),
            Column::number("Measured speedup", "Over one thread"),
            Column::text("", "What makes this prediction less certain"),
        ],
        rows: rows.collect(),
        sortable: false,
    }
}

fn regions_table(prediction: &Prediction, diagnosis: &Diagnosis) -> Option<Table> {
    let counts: Vec<u32> = selection(&prediction.points)
        .into_iter()
        .map(|point| point.threads)
        .collect();
    let all = std::iter::once(&prediction.serial).chain(&prediction.regions);
    let rows: Vec<Row> = all
        .take(REGIONS_MAX)
        .enumerate()
        .map(|(index, region)| {
            let name = if index == 0 {
                "serial part".to_owned()
            } else {
                words::shorten(&region.name, regions::NAME_CHARS)
            };
            let mut cells = vec![Cell::name(name)];
            cells.extend(counts.iter().map(|threads| {
                region
                    .points
                    .iter()
                    .find(|point| point.threads == *threads)
                    .map_or_else(Cell::nothing, |point| {
                        Cell::number(point.time_ns, units::duration(point.time_ns)).hint(format!(
                            "{} to {}",
                            units::duration(point.low_ns),
                            units::duration(point.high_ns)
                        ))
                    })
            }));
            if index == 0 {
                cells.push(Cell::nothing());
                cells.push(Cell::words(""));
            } else {
                let best = f64::from(region.best_threads);
                cells.push(Cell::number(best, region.best_threads.to_string()));
                cells.push(Cell::words(limit(diagnosis, &region.key)));
            }
            Row {
                id: String::new(),
                cells,
            }
        })
        .collect();
    let mut columns = vec![Column::text("Region", "")];
    columns.extend(
        counts
            .iter()
            .map(|threads| Column::number(threads.to_string(), "With this many threads")),
    );
    columns.push(Column::number(
        "Best threads",
        "Threads beyond which its time stops falling",
    ));
    columns.push(Column::text("Limited by", "The most expensive cause in it"));
    (rows.len() > 1).then_some(Table {
        id: "region-prediction-table".to_owned(),
        caption: "Predicted time of each region by number of threads. Hovering shows the interval."
            .to_owned(),
        columns,
        rows,
        sortable: true,
    })
}
