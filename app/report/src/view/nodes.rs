//! What the published models say of recordings on nodes: speedups beside those observed, and
//! the counts that they follow from.

use super::table::{Cell, Column, Row, Table};
use super::{curves, words};
use crate::chart::{Chart, Series, curves_chart};
use crate::{Input, units};
use fathomp_analysis::{Analysis, Dsm};
use fathomp_predict::validate::{self, Predictor};
use serde::Serialize;
use std::collections::BTreeMap;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Nodes {
    note: String,
    warnings: Vec<String>,
    speedup: Chart,
    speedup_caption: String,
    table: Table,
    counts: Option<Chart>,
}

/// The section, if there are predictions for nodes.
pub(crate) fn build(input: &Input<'_>) -> Option<Nodes> {
    let validated = input.nodes?;
    let cluster = validated.cluster.as_ref()?;
    let rows: Vec<&validate::Row> = validated
        .rows
        .iter()
        .filter(|row| cell_of(row, Predictor::Critical).is_some())
        .collect();
    (!rows.is_empty()).then(|| Nodes {
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
        speedup_caption: "Speedup over one thread. Points are observed; the curve is predicted by the published critical-path model. The grey band is the published aggregate model from f = 1, where no faults overlap, to f = 0, where all do.".to_owned(),
        table: table(&rows),
        counts: counts(input.analyses),
    })
}

/// Speedups by a predictor; none if it says nothing.
fn said(rows: &[&validate::Row], predictor: Predictor) -> Vec<(f64, f64)> {
    rows.iter()
        .filter_map(|row| {
            let cell = cell_of(row, predictor)?;
            Some((f64::from(row.threads), cell.speedup))
        })
        .collect()
}

fn cell_of(row: &validate::Row, predictor: Predictor) -> Option<&validate::Cell> {
    let mut cells = row.predictions.iter();
    cells.find(|cell| cell.predictor == predictor)
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
    let series = [
        Series {
            band: between.collect(),
            ..curve("", "aggregate", most.clone())
        },
        curve("f = 1", "aggregate", least.clone()),
        curve("f = 0", "aggregate", most.clone()),
        curve("critical", "critical-path", said(rows, Predictor::Critical)),
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
            cells.push(cell_of(row, predictor).map_or_else(Cell::nothing, |cell| {
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
