//! What `fathomp predict` prints of the published models.

use super::{WIDTH_MIN, printable, wrapped};
use crate::units::{self, NOTHING, duration, percent, plural, ratio, signed};
use crate::view::words;
use fathomp_predict::prices::{Event, Protocol};
use fathomp_predict::published::{Model, Point, Predicted, Table4Row, Term};
use fathomp_tables::Grid;
use std::collections::BTreeSet;

/// Longest name of a region in a row.
const REGION_MAX: usize = 32;

/// Prices, speedups of each program and their errors, in at most `width`
/// columns.
#[must_use]
pub fn sdp(predicted: &Predicted, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let mut text = wrapped(&printable(&title(predicted)), width, "  ");
    for warning in &predicted.warnings {
        text.push_str(&wrapped(
            &format!("warning: {}", printable(warning)),
            width,
            "  ",
        ));
    }
    text.push('\n');
    let fractions = fractions(predicted);
    let grid = if fractions.len() > 1 {
        sweep(predicted, &fractions)
    } else {
        terms(predicted)
    };
    text.push_str(&grid.render(width));
    text.push('\n');
    text.push_str(&counts(predicted).render(width));
    let whose = match predicted.model {
        Model::Critical => "Counted along the critical path.",
        Model::Aggregate => "Counted of all threads together.",
    };
    text.push_str(&wrapped(whose, width, ""));
    if !predicted.errors.is_empty() {
        text.push('\n');
        text.push_str(&errors(predicted).render(width));
    }
    if predicted.programs.len() > 1 && !predicted.table4.is_empty() {
        text.push('\n');
        let system = format!("{} ", predicted.protocol.name());
        let rows = predicted.table4.iter();
        let rows = rows.map(|row| {
            (
                format!("{system}{}", row.class),
                model(predicted, row.predictor),
                row,
            )
        });
        text.push_str(&by_class(rows).render(width));
    }
    text
}

/// The published table 4 in its own form: a row for each class, choice of programs and predictor,
/// which comes with what to call these.
pub(super) fn by_class<'a, K: 'a>(
    rows: impl Iterator<Item = (String, String, &'a Table4Row<K>)>,
) -> Grid {
    let rows: Vec<_> = rows.collect();
    let errors = rows.iter().flat_map(|(_, _, row)| &row.errors);
    let threads: BTreeSet<u32> = errors.map(|error| error.0).collect();
    let mut grid = Grid::new("By class").words("Programs", 0).words("Model", 0);
    for threads in &threads {
        grid = grid.column(plural((*threads).into(), "thread"), 0);
    }
    for (class, predictor, row) in rows {
        let mut cells = vec![row.subset.clone(), predictor];
        cells.extend(threads.iter().map(|threads| {
            let error = row.errors.iter().find(|error| error.0 == *threads);
            error.map_or_else(|| NOTHING.to_owned(), |error| percent(error.1))
        }));
        grid.row(class.trim().to_owned(), cells);
    }
    grid
}

/// The published table 1: how many events of each kind each program has.
fn counts(predicted: &Predicted) -> Grid {
    let shown: Vec<Event> = priced(predicted).collect();
    let mut grid = table(predicted);
    for event in &shown {
        grid = grid.column(capital(event.words(predicted.protocol)), expendable(*event));
    }
    let mut last = None;
    for (name, point) in rows(predicted) {
        // The same for every f.
        let this = Some((name, point.threads));
        if std::mem::replace(&mut last, this) == this {
            continue;
        }
        let of = |event: &Event| {
            let mut terms = point.terms.iter();
            let term = terms.find(|one| one.term == Term::Event(*event));
            let count = term.and_then(|one| one.count);
            count.map_or_else(
                || NOTHING.to_owned(),
                |count| units::count(count.round() as u64),
            )
        };
        let cells = shown.iter().map(of).collect();
        add(&mut grid, predicted, name, point.threads, cells);
    }
    grid
}

/// What usually costs least goes first.
fn expendable(event: Event) -> u8 {
    match event {
        Event::Fetch => 4,
        Event::RemoteWrite => 5,
        Event::DiffToHome => 6,
        Event::LocalWrite => 7,
    }
}

/// What to call a model, with its f if all programs have the same.
fn model(predicted: &Predicted, f: Option<f64>) -> String {
    match (predicted.model, f) {
        (Model::Critical, _) => "critical path".to_owned(),
        (Model::Aggregate, Some(f)) => format!("aggregate, f = {f}"),
        (Model::Aggregate, None) => "aggregate, f fitted".to_owned(),
    }
}

fn title(predicted: &Predicted) -> String {
    let model = match predicted.model {
        Model::Critical => "Critical-path model",
        Model::Aggregate => "Aggregate model",
    };
    let protocol = match predicted.protocol {
        Protocol::Home => "home-based",
        Protocol::Homeless => "homeless",
    };
    let prices: Vec<String> = priced(predicted)
        .map(|event| {
            let us = predicted.prices.prices.us(event);
            let each = duration(us * 1e3);
            format!("{} {each} each", event.words(predicted.protocol))
        })
        .collect();
    format!(
        "{model} on {}, {protocol} protocol: {}.",
        predicted.cluster,
        prices.join(", ")
    )
}

/// Events that the protocol has.
fn priced(predicted: &Predicted) -> impl Iterator<Item = Event> {
    let homeless = predicted.protocol == Protocol::Homeless;
    Event::ALL
        .into_iter()
        .filter(move |event| !homeless || matches!(event, Event::RemoteWrite | Event::Fetch))
}

/// The values of f, if there are several for each number of threads.
fn fractions(predicted: &Predicted) -> Vec<f64> {
    let mut fractions: Vec<f64> = Vec::new();
    for program in &predicted.programs {
        let threads: BTreeSet<u32> = program.points.iter().map(|point| point.threads).collect();
        for f in program.points.iter().filter_map(|point| point.f) {
            if program.points.len() > threads.len() && !fractions.contains(&f) {
                fractions.push(f);
            }
        }
    }
    fractions
}

/// A table with a column for the program, if programs have names, and one for
/// the number of threads.
fn table(predicted: &Predicted) -> Grid {
    if named(predicted) {
        Grid::new("Program").column("Threads", 0)
    } else {
        Grid::new("Threads")
    }
}

fn named(predicted: &Predicted) -> bool {
    let mut programs = predicted.programs.iter();
    programs.any(|program| !program.program.is_empty())
}

/// Adds a row to a [`table`].
fn add(grid: &mut Grid, predicted: &Predicted, name: &str, threads: u32, cells: Vec<String>) {
    let threads = threads.to_string();
    if named(predicted) {
        let cells = std::iter::once(threads).chain(cells).collect();
        grid.row(printable(name), cells);
    } else {
        grid.row(threads, cells);
    }
}

fn rows(predicted: &Predicted) -> impl Iterator<Item = (&str, &Point)> {
    predicted.programs.iter().flat_map(|program| {
        let name = program.program.as_str();
        program.points.iter().map(move |point| (name, point))
    })
}

/// A row for each number of threads, a column for each part of the time.
fn terms(predicted: &Predicted) -> Grid {
    let fitted = rows(predicted).any(|(_, point)| point.f.is_some());
    let bounded = !fitted && rows(predicted).any(|(_, point)| point.speedup_bounds.is_some());
    let regions = rows(predicted).any(|(_, point)| point.regions.len() > 1);
    let observed = rows(predicted).any(|(_, point)| point.speedup_observed.is_some());
    let mut grid = table(predicted);
    if fitted {
        grid = grid.column("f", 0);
    }
    grid = grid.column("Divided work", 3);
    for event in priced(predicted) {
        grid = grid.column(capital(event.words(predicted.protocol)), expendable(event));
    }
    grid = grid.column("Time", 3).column("Speedup", 0);
    if bounded {
        grid = grid.column("Bounds", 1);
    }
    if observed {
        grid = grid.column("Observed", 1).column("Error", 1);
    }
    grid = grid.words("Largest loss", 1);
    if regions {
        grid = grid.words("Costliest region", 2);
    }
    for (name, point) in rows(predicted) {
        let mut cells = Vec::new();
        if fitted {
            cells.push(point.f.map_or_else(|| NOTHING.to_owned(), ratio));
        }
        let shown: Vec<Event> = priced(predicted).collect();
        for part in &point.terms {
            if !matches!(part.term, Term::Event(event) if !shown.contains(&event)) {
                cells.push(duration(part.time_ns));
            }
        }
        cells.push(duration(point.time_ns));
        cells.push(ratio(point.speedup));
        if bounded {
            cells.push(point.speedup_bounds.map_or_else(
                || NOTHING.to_owned(),
                |[least, most]| format!("{} to {}", ratio(least), ratio(most)),
            ));
        }
        if observed {
            cells.push(
                point
                    .speedup_observed
                    .map_or_else(|| NOTHING.to_owned(), ratio),
            );
            cells.push(
                point
                    .relative_error
                    .map_or_else(|| NOTHING.to_owned(), signed),
            );
        }
        cells.push(largest_loss(predicted, point));
        if regions {
            cells.push(costliest(point));
        }
        add(&mut grid, predicted, name, point.threads, cells);
    }
    grid
}

/// A row for each number of threads, a column for each f.
fn sweep(predicted: &Predicted, fractions: &[f64]) -> Grid {
    let observed = rows(predicted).any(|(_, point)| point.speedup_observed.is_some());
    let mut grid = table(predicted);
    if observed {
        grid = grid.column("Observed", 1);
    }
    for f in fractions {
        grid = grid.column(format!("f = {f}"), 0);
    }
    grid = grid.words("Largest loss", 1);
    for program in &predicted.programs {
        let threads: BTreeSet<u32> = program.points.iter().map(|point| point.threads).collect();
        for threads in threads {
            let same = || {
                let points = program.points.iter();
                points.filter(move |point| point.threads == threads)
            };
            let Some(first) = same().next() else { continue };
            let mut cells = Vec::new();
            if observed {
                cells.push(
                    first
                        .speedup_observed
                        .map_or_else(|| NOTHING.to_owned(), ratio),
                );
            }
            for f in fractions {
                let point = same().find(|point| point.f == Some(*f));
                cells.push(point.map_or_else(|| NOTHING.to_owned(), |one| ratio(one.speedup)));
            }
            cells.push(largest_loss(predicted, first));
            add(&mut grid, predicted, &program.program, threads, cells);
        }
    }
    grid
}

/// Mean relative errors as the published table 4 has them.
fn errors(predicted: &Predicted) -> Grid {
    let threads: BTreeSet<u32> = predicted.errors.iter().map(|error| error.threads).collect();
    let mut grid = Grid::new("Mean relative error");
    for threads in &threads {
        grid = grid.column(plural((*threads).into(), "thread"), 0);
    }
    let mut kinds: Vec<Option<f64>> = Vec::new();
    for error in &predicted.errors {
        if !kinds.contains(&error.f) {
            kinds.push(error.f);
        }
    }
    for kind in kinds {
        let cells = threads.iter().map(|threads| {
            let error = predicted
                .errors
                .iter()
                .find(|error| error.threads == *threads && error.f == kind);
            error.map_or_else(
                || NOTHING.to_owned(),
                |one| percent(one.mean_relative_error),
            )
        });
        grid.row(model(predicted, kind), cells.collect());
    }
    grid
}

fn largest_loss(predicted: &Predicted, point: &Point) -> String {
    point.dominating.map_or_else(
        || NOTHING.to_owned(),
        |one| {
            format!(
                "{} {}",
                one.term.words(predicted.protocol),
                percent(one.share)
            )
        },
    )
}

fn costliest(point: &Point) -> String {
    point.regions.first().map_or_else(String::new, |region| {
        let share = percent(region.time_ns / point.time_ns);
        let thread = region
            .thread
            .map_or_else(String::new, |thread| format!(" on thread {thread}"));
        let name = words::shorten(&printable(&region.region), REGION_MAX);
        format!("{name}{thread} {share}")
    })
}

pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
