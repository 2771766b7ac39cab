//! Whether switching programs would hide waits for pages.

use fathomp_report::text::{Grid, wrapped};
use fathomp_skyline::questions::gang::{Answer, Policy};
use fathomp_types::units::{count, duration, percent, ratio};

/// The answer: a sentence, and what each way of switching gives.
#[must_use]
pub fn gang(answer: &Answer, width: usize) -> String {
    let first = answer.outcomes.first();
    let alone = first.map_or(1, |outcome| outcome.makespan_ns.max(1)) as f64;
    let mut grid = Grid::new("While tasks wait for pages")
        .column("Time", 0)
        .column("Times", 0)
        .column("Hidden", 0)
        .column("Held back", 1)
        .column("Second program", 0)
        .column("All at once", 1);
    for outcome in &answer.outcomes {
        let name = match outcome.policy {
            Policy::Wait => "processors wait",
            Policy::Each => "each switches by itself",
            Policy::Gang => "all switch together",
        };
        grid.row(
            name.to_owned(),
            vec![
                duration(outcome.makespan_ns as f64),
                ratio(outcome.makespan_ns as f64 / alone),
                percent(outcome.hidden_share),
                duration(outcome.held_ns as f64),
                duration(outcome.other_ns as f64),
                duration(outcome.other_together_ns as f64),
            ],
        );
    }
    let part = if answer.simulated_share < 1.0 {
        format!(
            " Simulated is the first {} of the record.",
            percent(answer.simulated_share)
        )
    } else {
        String::new()
    };
    let sentence = format!(
        "A second program beside {} tasks that wait for {} pages: {}{part}",
        count(answer.tasks),
        count(answer.faults),
        answer.sentence
    );
    format!(
        "\n{}\n{}",
        wrapped(&sentence, width, ""),
        grid.render(width)
    )
}
