//! What `fathomp predict --evaluate` prints.

use super::{WIDTH_MIN, wrapped};
use crate::units::percent;
use crate::view::evaluation::{rate, sentences};
use fathomp_advise::evaluate::Evaluation;
use fathomp_tables::Grid;

/// Findings, a row for each predictor, and the published results, in at most `width` columns.
#[must_use]
pub fn evaluation(evaluation: &Evaluation, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let mut text = String::new();
    for sentence in sentences(evaluation) {
        text.push_str(&wrapped(&super::printable(&sentence), width, "  "));
    }
    text.push('\n');
    let mut grid = Grid::new("Predictor")
        .column("Right", 0)
        .column("95 % interval", 1)
        .column("Regret", 0)
        .column("Error", 2)
        .column("90 % below", 3)
        .column("Too many", 4)
        .column("Too few", 4)
        .column("At a border", 5)
        .column("Other definition", 6);
    for one in &evaluation.predictors {
        let success = &one.success;
        grid.row(
            one.name,
            vec![
                format!("{} of {}", success.right, success.all),
                format!("{} to {}", percent(success.low), percent(success.high)),
                percent(one.regret),
                percent(one.error_median),
                percent(one.error_90),
                one.too_many.to_string(),
                one.too_few.to_string(),
                one.at_border.to_string(),
                percent(one.success_other.rate),
            ],
        );
    }
    text.push_str(&grid.render(width));
    text.push('\n');
    if !evaluation.sensitivity.is_empty() {
        let mut grid = Grid::new("Weight of the score")
            .column("Halved", 0)
            .column("Doubled", 0);
        for pair in evaluation.sensitivity.chunks(2) {
            let changed = pair
                .iter()
                .map(|one| format!("{} of {} change", one.changed, one.regions));
            grid.row(pair[0].weight, changed.collect());
        }
        text.push_str(&grid.render(width));
        text.push('\n');
    }
    let mut grid = Grid::new("Published score")
        .column("Packages", 0)
        .column("Right", 0)
        .column("Rate", 0)
        .column("95 % interval", 1);
    for one in &evaluation.published {
        grid.row(
            format!("{}, {}", one.suite, one.machine),
            vec![
                one.packages.to_string(),
                format!("{} of {}", one.success.right, one.success.all),
                percent(one.success.rate),
                rate(&one.success),
            ],
        );
    }
    text.push_str(&grid.render(width));
    text
}
