//! Times with other numbers of ranks and threads, in lines and sentences.

use crate::units::{duration, percent, plural, ratio};
use crate::view::ranks::cell;
use fathomp_predict::ranks::{Between, Split, best, growth};
use fathomp_tables::Grid;
use std::collections::BTreeSet;

/// A row for each number of ranks, a column for each number of threads; predicted times begin with
/// "~".
#[must_use]
pub fn lines(all: &[Split], width: usize) -> Vec<String> {
    let threads: BTreeSet<u32> = all.iter().map(|one| one.threads).collect();
    let ranks: BTreeSet<u32> = all.iter().map(|one| one.ranks).collect();
    let mut grid = Grid::new("Ranks");
    for (index, threads) in threads.iter().enumerate() {
        let expendable = u8::try_from(index).unwrap_or(u8::MAX);
        grid = grid.column(plural((*threads).into(), "thread"), expendable);
    }
    for ranks in &ranks {
        let of = |threads: &u32| {
            let here = all
                .iter()
                .find(|one| (one.ranks, one.threads) == (*ranks, *threads));
            here.map_or_else(String::new, cell)
        };
        grid.row(ranks.to_string(), threads.iter().map(of).collect());
    }
    grid.render(width).lines().map(str::to_owned).collect()
}

fn interval(one: &Between) -> String {
    format!("{} to {}", duration(one.low_ns), duration(one.high_ns))
}

/// "2 ranks x 4 threads".
fn split(one: &Split) -> String {
    format!(
        "{} x {}",
        plural(one.ranks.into(), "rank"),
        plural(one.threads.into(), "thread")
    )
}

/// The best split of this machine's processors and of `cores`, how well measured times are
/// predicted from the others, and why some are not.
#[must_use]
pub fn sentences(all: &[Split], processors: u32, cores: u32) -> Vec<String> {
    let mut said = Vec::new();
    for cores in BTreeSet::from([processors, cores]) {
        let Some(best) = best(all, cores) else {
            continue;
        };
        let time = match (best.measured_ns, &best.predicted) {
            (Some(measured), _) => format!("measured {}", duration(measured)),
            (None, Some(predicted)) => format!(
                "predicted {} ({})",
                duration(predicted.ns),
                interval(predicted)
            ),
            (None, None) => continue,
        };
        said.push(format!(
            "On {}, {} are fastest: {time}.",
            plural(cores.into(), "processor"),
            split(best)
        ));
    }
    if let Some(growth) = growth(all) {
        let [fewer, more] = growth.ranks.map(|ranks| plural(ranks.into(), "rank"));
        said.push(format!(
            "{more} compute {} times as long in all as {fewer}: either the problem grows with the number of ranks, and these times are of different problems, or ranks slow each other down.",
            ratio(growth.times)
        ));
    }
    let errors: Vec<f64> = all.iter().filter_map(Split::error).map(f64::abs).collect();
    let measured = all.iter().filter(|one| one.measured_ns.is_some()).count();
    if !errors.is_empty() {
        said.push(format!(
            "Check: {} of {} measured times, each predicted from the other runs, are off by {} on the mean.",
            errors.len(),
            measured,
            percent(errors.iter().sum::<f64>() / errors.len() as f64)
        ));
    }
    let unknown = all.iter().filter(|one| one.time_ns().is_none());
    let why: BTreeSet<&str> = unknown.filter_map(|one| one.unknown.as_deref()).collect();
    said.extend(
        why.into_iter()
            .map(|why| format!("Some times are not predicted: {why}.")),
    );
    said
}
