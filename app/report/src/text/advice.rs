//! What `fathomp advise` prints.

use super::{WIDTH_MIN, printable, wrapped};
use crate::units::{self, duration, percent, ratio};
use fathomp_advise::{Advice, Confidence, RegionAdvice};
use fathomp_tables::Grid;

/// Regions explained in sentences.
const EXPLAINED: usize = 12;

/// A row for each region, then reasons, doubts and what was assumed, in at most `width`
/// columns.
#[must_use]
pub fn advice(advice: &Advice, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let machine = &advice.machine;
    let packages = match machine.packages {
        0 | 1 => String::new(),
        n => format!(" in {n} packages"),
    };
    let mut text = wrapped(
        &printable(&format!(
            "For {} with {} cores{packages}:",
            match machine.name.is_empty() {
                true => "this machine",
                false => &machine.name,
            },
            machine.cores
        )),
        width,
        "  ",
    );
    let many = machine.packages > 1;
    let mut grid = Grid::new("Region").column("Threads", 0);
    if many {
        grid = grid.column("Packages", 1);
    }
    grid = grid
        .column("Gain", 0)
        .column("90 % interval", 4)
        .column("Loss: all", 1)
        .column("Loss: one", 2)
        .column("Saturates", 5)
        .column("Score", 1)
        .column("Time", 3)
        .words("Confidence", 1);
    for region in &advice.regions {
        grid.row(printable(&region.name), row(region, many));
    }
    text.push_str(&grid.render(width));
    text.push('\n');
    for region in advice.regions.iter().take(EXPLAINED) {
        let mut sentence = format!("{}: {}", region.name, region.reason);
        if region.steps.len() > 1 {
            sentence.push_str(&format!(" {}", by_trips(region)));
        }
        for doubt in &region.doubts {
            sentence.push(' ');
            sentence.push_str(doubt);
        }
        text.push_str(&wrapped(&printable(&sentence), width, "  "));
    }
    if advice.regions.len() > EXPLAINED {
        text.push_str(&format!(
            "{} more regions: --json has the reasons of all.\n",
            advice.regions.len() - EXPLAINED
        ));
    }
    if !advice.notes.is_empty() {
        text.push('\n');
        for note in &advice.notes {
            text.push_str(&wrapped(&printable(note), width, "  "));
        }
    }
    text
}

fn row(region: &RegionAdvice, packages: bool) -> Vec<String> {
    let advised = &region.advised;
    let mut cells = vec![advised.threads.to_string()];
    if packages {
        cells.push(advised.packages.to_string());
    }
    let time = region
        .points
        .iter()
        .find(|point| point.threads == advised.threads)
        .filter(|_| region.basis.absolute);
    cells.extend([
        ratio(advised.gain),
        format!(
            "{} to {}",
            ratio(advised.gain_low),
            ratio(advised.gain_high)
        ),
        percent(region.loss.all.max(0.0)),
        percent(region.loss.one.max(0.0)),
        region
            .saturates_at
            .map_or_else(|| units::NOTHING.to_owned(), |at| at.to_string()),
        region
            .score
            .map_or_else(|| units::NOTHING.to_owned(), |score| format!("{score:.2}")),
        time.map_or_else(|| units::NOTHING.to_owned(), |point| duration(point.time)),
        match region.confidence {
            Confidence::High => "high",
            Confidence::Medium => "medium",
            Confidence::Low => "low",
        }
        .to_owned(),
    ]);
    cells
}

/// `By iterations: 1 thread below 2,000, 2 below 40,000, then 8.`
fn by_trips(region: &RegionAdvice) -> String {
    let parts: Vec<String> = region
        .steps
        .windows(2)
        .map(|pair| {
            format!(
                "{} below {}",
                pair[0].threads,
                units::short_count(pair[1].from_trips)
            )
        })
        .collect();
    let last = region.steps.last().map_or(1, |step| step.threads);
    format!(
        "Threads by iterations of its innermost loops: {}, {last} from there on.",
        parts.join(", ")
    )
}
