//! How many threads each region deserves.

use super::table::{Cell, Column, Row, Table};
use super::{regions, words};
use crate::units;
use fathomp_advise::{Advice, Confidence, RegionAdvice};
use serde::Serialize;

/// Rows beyond this are left to `fathomp advise --json`.
const ROWS_MAX: usize = 200;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Teams {
    note: String,
    notes: Vec<String>,
    table: Table,
}

/// The section, if there is advice.
pub(crate) fn build(advice: Option<&Advice>) -> Option<Teams> {
    let advice = advice.filter(|advice| !advice.regions.is_empty())?;
    let machine = &advice.machine;
    Some(Teams {
        note: format!(
            "For {} with {}. `fathomp run --advice` follows it; a region that says how many threads it needs keeps them.",
            match machine.name.is_empty() {
                true => "this machine".to_owned(),
                false => words::shorten(&machine.name, 200),
            },
            units::plural(machine.cores.into(), "core"),
        ),
        notes: advice.notes.iter().map(|note| words::bound(note)).collect(),
        table: table(advice),
    })
}

fn table(advice: &Advice) -> Table {
    Table {
        id: "advice-table".to_owned(),
        caption: "Regions that take the most time first.".to_owned(),
        columns: vec![
            Column::text("Region", "The parallel region"),
            Column::number("Score", "The published static score, 0 to 1"),
            Column::number("Threads", "How many it deserves here"),
            Column::number("Gain", "Time with one thread over time with these"),
            Column::number("Loss with all", "Time lost by taking all cores"),
            Column::number("Loss with one", "Time lost by taking one thread"),
            Column::number(
                "Saturates at",
                "The most threads of which each still saves what is worthwhile",
            ),
            Column::text("Confidence", "How far this may be trusted"),
            Column::text("Why", "What limits it"),
        ],
        rows: advice.regions.iter().take(ROWS_MAX).map(row).collect(),
        sortable: true,
    }
}

fn row(region: &RegionAdvice) -> Row {
    let advised = &region.advised;
    let confidence = match region.confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    };
    let doubts = region.doubts.join(" ");
    let number = |value: Option<f64>, text: fn(f64) -> String| {
        value.map_or_else(Cell::nothing, |value| Cell::number(value, text(value)))
    };
    Row {
        id: String::new(),
        cells: vec![
            Cell::name(words::shorten(&region.name, regions::NAME_CHARS))
                .hint(words::shorten(&region.name, 300)),
            number(region.score, |score| format!("{score:.2}")),
            Cell::number(
                f64::from(advised.threads),
                units::count(advised.threads.into()),
            )
            .hint(steps(region)),
            Cell::number(advised.gain, units::ratio(advised.gain)).hint(format!(
                "{} to {} (90 %)",
                units::ratio(advised.gain_low),
                units::ratio(advised.gain_high)
            )),
            number(Some(region.loss.all.max(0.0)), units::percent),
            number(Some(region.loss.one.max(0.0)), units::percent),
            number(region.saturates_at.map(f64::from), |at| format!("{at:.0}")),
            Cell::words(confidence).hint(words::shorten(&doubts, 400)),
            Cell::words(words::shorten(&region.reason, 400)),
        ],
    }
}

/// What is advised for other numbers of trips.
fn steps(region: &RegionAdvice) -> String {
    if region.steps.len() < 2 {
        return String::new();
    }
    let steps = region.steps.iter().map(|step| {
        format!(
            "{} from {} on",
            step.threads,
            units::plural(step.from_trips, "iteration")
        )
    });
    words::list(&steps.collect::<Vec<_>>())
}
