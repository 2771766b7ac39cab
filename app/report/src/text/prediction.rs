//! What `fathomp predict` prints.

use super::{WIDTH_MIN, printable, wrapped};
use crate::units::{self, duration, percent, ratio};
use crate::view::words;
use fathomp_diagnosis::Diagnosis;
use fathomp_predict::{Point, Prediction, RegionPrediction, Term};
use fathomp_tables::Grid;

/// Causes explained in full.
const CAUSES_SHOWN: usize = 3;

/// The findings in sentences, then times and speedups of the program and of
/// each region, in at most `width` columns.
#[must_use]
pub fn prediction(prediction: &Prediction, diagnosis: &Diagnosis, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let mut text = String::new();
    for sentence in &prediction.sentences {
        text.push_str(&wrapped(&printable(sentence), width, "  "));
    }
    for region in prediction.worst_regions() {
        let sentence = fathomp_types::text::sentence(&diagnosis.of_prediction(region));
        text.push_str(&wrapped(&printable(&sentence), width, "  "));
    }
    let all = diagnosis.circumstance().into_iter();
    for cause in all.chain(diagnosis.of_program()).take(CAUSES_SHOWN) {
        let sentence = cause.sentence();
        text.push_str(&wrapped(&printable(&sentence), width, "  "));
    }
    if !prediction.sentences.is_empty() {
        text.push('\n');
    }
    let mut grid = Grid::new("Threads")
        .column("Time", 0)
        .column("Interval", 1)
        .column("Measured", 0)
        .column("Speedup", 0)
        .column("Interval", 2)
        .words("Largest loss", 3);
    for point in &prediction.points {
        grid.row(
            point.threads.to_string(),
            vec![
                duration(point.time_ns),
                format!("{} to {}", duration(point.low_ns), duration(point.high_ns)),
                point
                    .measured_ns
                    .map_or_else(|| units::NOTHING.to_owned(), duration),
                ratio(point.speedup),
                format!(
                    "{} to {}",
                    ratio(point.speedup_low),
                    ratio(point.speedup_high)
                ),
                largest_loss(point),
            ],
        );
    }
    text.push_str(&grid.render(width));
    if !prediction.regions.is_empty() {
        text.push('\n');
        text.push_str(&regions(&prediction.regions, diagnosis).render(width));
    }
    let simple: Vec<String> = prediction
        .baselines
        .iter()
        .filter_map(|one| {
            let error = one.validation_error?;
            Some(format!("{} {}", one.name, percent(error.abs())))
        })
        .collect();
    if !simple.is_empty() {
        let sentence = format!(
            "Errors of simple models in the same check: {}.",
            simple.join(", ")
        );
        text.push('\n');
        text.push_str(&wrapped(&sentence, width, "  "));
    }
    if !prediction.warnings.is_empty() {
        text.push('\n');
        for warning in &prediction.warnings {
            text.push_str(&wrapped(
                &format!("warning: {}", printable(warning)),
                width,
                "  ",
            ));
        }
    }
    text
}

fn regions(regions: &[RegionPrediction], diagnosis: &Diagnosis) -> Grid {
    let mut grid = Grid::new("Region")
        .column("Threads", 2)
        .column("Time", 0)
        .column("Best", 0)
        .words("Limited by", 1);
    for region in regions {
        let last = region.points.last();
        grid.row(
            printable(&region.name),
            vec![
                last.map_or_else(String::new, |point| point.threads.to_string()),
                last.map_or_else(
                    || units::NOTHING.to_owned(),
                    |point| duration(point.time_ns),
                ),
                region.best_threads.to_string(),
                diagnosis
                    .of_region(&region.key)
                    .map_or_else(String::new, |cause| printable(&cause.title)),
            ],
        );
    }
    grid
}

fn largest_loss(point: &Point) -> String {
    point
        .terms
        .iter()
        .filter(|one| one.term != Term::Work && one.time_ns > 0.0)
        .max_by(|a, b| a.time_ns.total_cmp(&b.time_ns))
        .map_or_else(String::new, |one| {
            format!(
                "{} {}",
                words::term(one.term),
                percent(one.time_ns / point.time_ns.max(1.0))
            )
        })
}
