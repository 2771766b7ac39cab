//! Predictions beside what was observed, in words.

use super::{Grid, WIDTH_MIN, printable, sdp, wrapped};
use crate::units::{NOTHING, percent, plural, ratio, signed};
use fathomp_predict::prices::Protocol;
use fathomp_predict::validate::{Cell, Predictor, Validated};
use std::collections::BTreeSet;

/// Speedups observed and predicted by number of threads, their relative errors,
/// and the mean error over programs, in at most `width` columns.
#[must_use]
pub fn validation(validated: &Validated, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let title = match &validated.cluster {
        None => "Each number of threads is predicted from all others.".to_owned(),
        Some(cluster) if validated.is_of_counts() => format!(
            "Each number of threads is predicted by the published models from its own counts and the prices of {cluster}; f is fitted to the other numbers of threads."
        ),
        Some(cluster) => format!(
            "Each number of threads is predicted from all others; by the published models from its own counts and the prices of {cluster}."
        ),
    };
    let mut text = wrapped(&printable(&title), width, "  ");
    for warning in &validated.warnings {
        let line = format!("warning: {}", printable(warning));
        text.push_str(&wrapped(&line, width, "  "));
    }
    let predictors = predictors(validated);
    text.push('\n');
    text.push_str(
        &cells(validated, &predictors, "Speedup", |cell| {
            ratio(cell.speedup)
        })
        .render(width),
    );
    text.push('\n');
    let error = |cell: &Cell| signed(cell.relative_error);
    text.push_str(&cells(validated, &predictors, "Relative error", error).render(width));
    let programs: BTreeSet<&str> = validated
        .rows
        .iter()
        .map(|row| row.program.as_str())
        .collect();
    if programs.len() > 1 {
        text.push('\n');
        text.push_str(&means(validated, &predictors).render(width));
        text.push('\n');
        text.push_str(&by_class(validated).render(width));
    }
    if let Some(line) = held(validated) {
        text.push('\n');
        text.push_str(&wrapped(&line, width, "  "));
    }
    text
}

/// How often intervals of our model of threads held what was observed.
fn held(validated: &Validated) -> Option<String> {
    let errors = validated.errors.iter();
    let ours = errors.filter(|one| one.predictor == Predictor::Fathomp);
    let (mut inside, mut all) = (0, 0);
    for error in ours {
        if let Some(some) = error.inside {
            inside += some;
            all += error.programs;
        }
    }
    (all > 0).then(|| {
        format!(
            "Intervals of our model of threads, meant to hold nine in ten, held {inside} of {all} observed speedups."
        )
    })
}

fn predictors(validated: &Validated) -> BTreeSet<Predictor> {
    validated
        .errors
        .iter()
        .map(|error| error.predictor)
        .collect()
}

fn title(predictor: Predictor) -> &'static str {
    match predictor {
        Predictor::Ideal => "Ideal",
        Predictor::Amdahl => "Amdahl",
        Predictor::Usl => "USL",
        Predictor::Fathomp => "Ours",
        Predictor::Critical => "Critical",
        Predictor::AggregateF0 => "f = 0",
        Predictor::AggregateF1 => "f = 1",
        Predictor::AggregateFit => "f fitted",
    }
}

/// What is left out first where there is no room.
fn expendable(predictor: Predictor) -> u8 {
    match predictor {
        Predictor::Fathomp | Predictor::Critical => 0,
        Predictor::AggregateF0 | Predictor::AggregateF1 => 1,
        Predictor::Amdahl | Predictor::Usl => 2,
        Predictor::AggregateFit => 3,
        Predictor::Ideal => 4,
    }
}

/// A row for each program and number of threads, a column for each predictor.
fn cells(
    validated: &Validated,
    predictors: &BTreeSet<Predictor>,
    name: &'static str,
    shown: impl Fn(&Cell) -> String,
) -> Grid {
    let mut grid = Grid::new(name).column("Threads", 0).column("Observed", 0);
    for predictor in predictors {
        grid = grid.column(title(*predictor), expendable(*predictor));
    }
    for row in &validated.rows {
        let mut cells = vec![row.threads.to_string(), ratio(row.speedup_observed)];
        cells.extend(predictors.iter().map(|predictor| {
            let mut said = row.predictions.iter();
            said.find(|cell| cell.predictor == *predictor)
                .map_or_else(|| NOTHING.to_owned(), &shown)
        }));
        grid.row(printable(&row.program), cells);
    }
    grid
}

/// The published table 4: a row for each number of threads.
fn means(validated: &Validated, predictors: &BTreeSet<Predictor>) -> Grid {
    let mut grid = Grid::new("Mean relative error").column("Programs", 5);
    for predictor in predictors {
        grid = grid.column(title(*predictor), expendable(*predictor));
    }
    let threads: BTreeSet<u32> = validated.errors.iter().map(|error| error.threads).collect();
    for threads in threads {
        let same = || {
            validated
                .errors
                .iter()
                .filter(move |error| error.threads == threads)
        };
        let programs = same().map(|error| error.programs).max().unwrap_or(0);
        let mut cells = vec![programs.to_string()];
        cells.extend(predictors.iter().map(|predictor| {
            same()
                .find(|error| error.predictor == *predictor)
                .map_or_else(
                    || NOTHING.to_owned(),
                    |error| percent(error.mean_relative_error),
                )
        }));
        grid.row(plural(threads.into(), "thread"), cells);
    }
    grid
}

/// The published table 4 in its own form.
fn by_class(validated: &Validated) -> Grid {
    sdp::by_class(validated.table4.iter().map(|row| {
        let system = row.protocol.map_or("threads", Protocol::name);
        let class = format!("{system} {}", row.class);
        (class, title(row.predictor).to_owned(), row)
    }))
}
