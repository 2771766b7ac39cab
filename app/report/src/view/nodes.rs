//! What models of nodes say of recordings on nodes: speedups beside those observed,
//! what the time consists of, and the counts that it follows from.

use super::table::{Cell, Column, Row, Table};
use super::{LegendEntry, curves, words};
use crate::chart::{Chart, Segment, Series, Stack, column_chart, curves_chart, strips};
use crate::{Input, units};
use fathomp_analysis::{Analysis, Dsm};
use fathomp_predict::nodes::{NodesTerm, NodesTime};
use fathomp_predict::validate::{self, Predictor};
use serde::Serialize;
use std::collections::BTreeMap;

/// Regions drawn at most: those that take longest.
const REGIONS_MAX: usize = 16;

/// Letters of a region's name on an axis.
const NAME_CHARS: usize = 18;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Nodes {
    note: String,
    warnings: Vec<String>,
    speedup: Chart,
    speedup_caption: String,
    table: Table,
    terms_legend: Vec<LegendEntry>,
    terms: Option<Chart>,
    regions: Option<Chart>,
    regions_caption: String,
    counts: Option<Chart>,
}

/// The section, if there are predictions for nodes.
pub(crate) fn build(input: &Input<'_>) -> Option<Nodes> {
    let validated = input.nodes?;
    let cluster = validated.cluster.as_ref()?;
    let rows: Vec<&validate::Row> = validated
        .rows
        .iter()
        .filter(|row| row.nodes.is_some())
        .collect();
    let last = rows.last()?;
    Some(Nodes {
        note: format!(
            "From the faults that were counted on each number of nodes and the prices of {}.",
            words::shorten(cluster, 200)
        ),
        warnings: validated
            .warnings
            .iter()
            .map(|one| words::bound(one))
            .collect(),
        speedup: speedup(&rows),
        speedup_caption: "Speedup over one thread. Points are observed; the curves are predicted by our model of nodes, with the interval that is to hold nine in ten, and by the published critical-path model. The grey band is the published aggregate model from f = 1, where no faults overlap, to f = 0, where all do.".to_owned(),
        table: table(&rows),
        terms_legend: legend(&rows),
        terms: terms(&rows),
        regions: regions(last),
        regions_caption: format!(
            "The same by region, with {}.",
            units::plural(last.threads.into(), "node")
        ),
        counts: counts(input.analyses),
    })
}

/// Speedups by a predictor; none if it says nothing.
fn said(rows: &[&validate::Row], predictor: Predictor) -> Vec<(f64, f64)> {
    rows.iter()
        .filter_map(|row| {
            let mut cells = row.predictions.iter();
            let cell = cells.find(|cell| cell.predictor == predictor)?;
            Some((f64::from(row.threads), cell.speedup))
        })
        .collect()
}

fn speedup(rows: &[&validate::Row]) -> Chart {
    let curve = |name: &str, class, points| Series {
        name: name.to_owned(),
        class,
        points,
        band: Vec::new(),
        measured: false,
    };
    let [least, most] = [Predictor::AggregateF1, Predictor::AggregateF0].map(|one| said(rows, one));
    let between = least.iter().zip(&most);
    let between = between.map(|((p, low), (_, high))| (*p, *low, *high));
    let ours = said(rows, Predictor::Nodes);
    let expected = rows.iter().zip(&ours).filter_map(|(row, (p, speedup))| {
        let (time_ns, interval) = (row.nodes?.time_ns(), row.nodes_interval?);
        let at = |ns: f64| speedup * time_ns / ns;
        Some((*p, at(interval.high_ns), at(interval.low_ns)))
    });
    let series = [
        Series {
            band: between.collect(),
            ..curve("", "aggregate", most.clone())
        },
        curve("f = 1", "aggregate", least.clone()),
        curve("f = 0", "aggregate", most.clone()),
        curve("critical", "critical-path", said(rows, Predictor::Critical)),
        Series {
            band: expected.collect(),
            ..curve("ours", "predicted", ours)
        },
        curves::dots(
            "observed",
            "measured",
            rows.iter()
                .map(|row| (f64::from(row.threads), row.speedup_observed)),
        ),
    ];
    curves_chart(
        "Speedup over nodes, observed and predicted".to_owned(),
        "speedup",
        &series,
    )
}

fn table(rows: &[&validate::Row]) -> Table {
    let predictors = [
        (Predictor::Nodes, "Ours"),
        (Predictor::Critical, "Critical path"),
        (Predictor::AggregateF1, "Aggregate, f = 1"),
        (Predictor::AggregateF0, "Aggregate, f = 0"),
    ];
    let mut columns = vec![
        Column::number("Nodes", "One thread on each"),
        Column::number("Observed", "Speedup over one thread"),
    ];
    for (_, name) in predictors {
        columns.push(Column::number(
            name,
            "Predicted speedup, and its relative error",
        ));
    }
    let rows = rows.iter().map(|row| {
        let number = |value: f64| Cell::number(value, units::ratio(value));
        let mut cells = vec![
            Cell::number(row.threads.into(), row.threads.to_string()),
            number(row.speedup_observed),
        ];
        for (predictor, _) in predictors {
            let mut all = row.predictions.iter();
            let cell = all.find(|cell| cell.predictor == predictor);
            cells.push(cell.map_or_else(Cell::nothing, |cell| {
                let error = units::signed(cell.relative_error);
                Cell::number(
                    cell.speedup,
                    format!("{} ({error})", units::ratio(cell.speedup)),
                )
            }));
        }
        Row {
            id: String::new(),
            cells,
        }
    });
    Table {
        id: "nodes-table".to_owned(),
        caption: "Speedups observed and predicted, with relative errors.".to_owned(),
        columns,
        rows: rows.collect(),
        sortable: false,
    }
}

/// The colour of a term.
const fn class(term: NodesTerm) -> &'static str {
    match term {
        NodesTerm::Serial => "serial",
        NodesTerm::Work => "work",
        NodesTerm::Imbalance => "explicit_barrier",
        NodesTerm::Sharing | NodesTerm::Stalls => "task_wait",
        NodesTerm::LocalWrites => "implicit_barrier",
        NodesTerm::RemoteWrites => "ordered",
        NodesTerm::Fetches => "communication",
        NodesTerm::Contention => "io",
        NodesTerm::Diffs | NodesTerm::Writers => "critical",
        NodesTerm::Barriers | NodesTerm::Notices => "idle",
        NodesTerm::Locks | NodesTerm::Waits => "lock",
        NodesTerm::Flushes => "overhead",
    }
}

const fn name(term: NodesTerm) -> &'static str {
    match term {
        NodesTerm::LocalWrites => "local writes",
        NodesTerm::RemoteWrites => "remote writes",
        other => other.name(),
    }
}

fn legend(rows: &[&validate::Row]) -> Vec<LegendEntry> {
    let times = || rows.iter().filter_map(|row| row.nodes);
    NodesTerm::ALL
        .into_iter()
        .filter(|term| times().any(|time| time[*term] > 0.0))
        .map(|term| LegendEntry {
            class: class(term),
            name: name(term),
        })
        .collect()
}

fn stack(label: String, time: &NodesTime) -> Stack {
    let segments = time.terms().filter(|(_, ns)| *ns > 0.0);
    Stack {
        segments: segments
            .map(|(term, ns)| Segment {
                class: class(term).to_owned(),
                name: name(term).to_owned(),
                ns,
            })
            .collect(),
        name: label,
    }
}

fn terms(rows: &[&validate::Row]) -> Option<Chart> {
    let stacks: Vec<Stack> = rows
        .iter()
        .filter_map(|row| Some(stack(row.threads.to_string(), row.nodes.as_ref()?)))
        .collect();
    (!stacks.is_empty()).then(|| {
        column_chart(
            "Predicted time over nodes by term".to_owned(),
            "nodes",
            "time",
            &stacks,
        )
    })
}

fn regions(row: &validate::Row) -> Option<Chart> {
    let mut regions: Vec<_> = row
        .nodes_regions
        .iter()
        .filter(|region| region.time.time_ns() > 0.0)
        .collect();
    regions.sort_by(|a, b| b.time.time_ns().total_cmp(&a.time.time_ns()));
    let stacks: Vec<Stack> = regions
        .into_iter()
        .take(REGIONS_MAX)
        .map(|region| stack(words::shorten(&region.region, NAME_CHARS), &region.time))
        .collect();
    (!stacks.is_empty()).then(|| strips("Predicted time by region and term".to_owned(), &stacks))
}

/// Counts of all threads together by number of threads; those of the shortest run.
fn counts(analyses: &[Analysis]) -> Option<Chart> {
    let mut shortest: BTreeMap<u32, (u64, &Dsm)> = BTreeMap::new();
    for analysis in analyses {
        let Some(dsm) = &analysis.dsm else { continue };
        let found = (analysis.wall_ns, dsm);
        let best = shortest.entry(analysis.team_size).or_insert(found);
        if found.0 < best.0 {
            *best = found;
        }
    }
    let curve = |name: &str, class, count: fn(&Dsm) -> u64| Series {
        name: name.to_owned(),
        class,
        points: shortest
            .iter()
            .map(|(threads, (_, dsm))| (f64::from(*threads), count(dsm) as f64))
            .collect(),
        band: Vec::new(),
        measured: false,
    };
    let series = [
        curve("local writes", "s4", |dsm| dsm.write_faults_local),
        curve("remote writes", "s3", |dsm| dsm.write_faults_remote),
        curve("fetches", "s7", |dsm| dsm.fetch_faults),
        curve("diffs", "s1", |dsm| dsm.diffs_sent),
    ];
    (!shortest.is_empty()).then(|| {
        curves_chart(
            "Faults and diffs over nodes".to_owned(),
            "of all nodes",
            &series,
        )
    })
}
