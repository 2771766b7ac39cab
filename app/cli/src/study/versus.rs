//! The regions of one program on several runtimes, side by side: times, ratios, and in which
//! state of its threads a difference lies.

use fathomp_analysis::{Analysis, SiteKind};
use fathomp_report::runtimes::{Column, Ratio, Row, Versus};
use fathomp_report::side_by_side::{Sample, ratio_words};
use fathomp_report::text::Grid;
use fathomp_stats::{Random, median, percentile_interval};
use fathomp_types::text::NO_TERMINAL;
use fathomp_types::units;

/// Draws of each bootstrap interval.
const DRAWS: usize = 2000;

/// What the runs of each runtime say, `runs[runtime][round]`.
pub(crate) fn compare(threads: u32, runtimes: &[String], runs: &[Vec<Analysis>]) -> Versus {
    let mut keys: Vec<(&str, &str, f64)> = Vec::new();
    for region in runs.iter().flatten().flat_map(|run| &run.regions) {
        let ns = region.wall_ns as f64;
        match keys.iter_mut().find(|known| known.0 == region.key) {
            Some(known) => known.2 += ns,
            None if region.kind == SiteKind::Serial => {
                keys.push((&region.key, "outside regions", ns));
            }
            None => keys.push((&region.key, &region.name, ns)),
        }
    }
    keys.sort_by(|one, other| other.2.total_cmp(&one.2));
    let rows = keys.into_iter().map(|(key, name, _)| {
        let seen = |run: &Analysis| {
            let found = run.regions.iter().find(|region| region.key == key)?;
            Some(Sample::of(found))
        };
        row(name, runs, seen)
    });
    let whole = |run: &Analysis| {
        let mut whole = Sample::default();
        for region in &run.regions {
            whole += Sample::of(region);
        }
        Some(Sample {
            ns: run.wall_ns,
            executions: 1,
            ..whole
        })
    };
    Versus {
        threads,
        runtimes: runtimes.to_vec(),
        program: row("the program", runs, whole),
        regions: rows.collect(),
    }
}

fn row(name: &str, runs: &[Vec<Analysis>], seen: impl Fn(&Analysis) -> Option<Sample>) -> Row {
    let all: Vec<Vec<Option<Sample>>> = runs
        .iter()
        .map(|runs| runs.iter().map(&seen).collect())
        .collect();
    Row::of(name, &all, |first, other| {
        // Rounds in which both were executed.
        let rounds = first.iter().zip(other);
        let ratios: Vec<f64> = rounds
            .filter_map(|(one, other)| Some((one.as_ref()?.ns, other.as_ref()?.ns)))
            .filter(|(one, _)| *one > 0)
            .map(|(one, other)| other as f64 / one as f64)
            .collect();
        ratio(&ratios)
    })
}

/// The median of ratios of rounds, with its interval.
fn ratio(ratios: &[f64]) -> Option<Ratio> {
    let value = median(ratios)?;
    let mut resampler = Random(1);
    let draws: Vec<f64> = (0..DRAWS)
        .filter_map(|_| median(&resampler.draw(ratios)))
        .collect();
    Some(Ratio {
        value,
        interval: percentile_interval(&draws)
            .filter(|_| ratios.len() > 1)
            .map(|interval| interval.around(value)),
    })
}

/// The table that people read.
pub(crate) fn text(versus: &Versus) -> String {
    let threads = units::plural(versus.threads.into(), "thread");
    let text = format!(
        "With {threads}, times and ratios to {}:\n\n",
        versus.name(0)
    );
    let mut grid = Grid::new("Region");
    for at in 0..versus.runtimes.len() {
        grid = grid.column(versus.name(at), 0);
    }
    grid = grid.words("Difference", 0);
    for row in [&versus.program].into_iter().chain(&versus.regions) {
        let cells = row.columns.iter().map(Option::as_ref);
        let mut cells: Vec<String> = cells.map(|one| one.map_or("-".to_owned(), cell)).collect();
        let columns = row.columns.iter().enumerate();
        let differences = columns.filter_map(|(at, column)| {
            let difference = column.as_ref()?.difference.as_ref()?;
            let sign = if difference.longer_ns > 0.0 { "+" } else { "-" };
            let longer = duration(difference.longer_ns.abs());
            Some(format!(
                "{}: {} {sign}{longer}",
                versus.name(at),
                difference.part
            ))
        });
        cells.push(differences.collect::<Vec<_>>().join("; "));
        grid.row(&row.name, cells);
    }
    text + &grid.render(NO_TERMINAL)
}

fn cell(column: &Column) -> String {
    let time = duration(column.time_ns);
    match &column.ratio {
        None => time,
        Some(ratio) => format!("{time} {}", ratio_words(ratio)),
    }
}

fn duration(ns: f64) -> String {
    units::duration(ns.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_that_of_rounds_and_certain_only_of_several() {
        let one = ratio(&[2.0]).unwrap();
        assert!(one.interval.is_none() && (one.value - 2.0).abs() < 1e-12);
        let many = ratio(&[2.0, 2.1, 1.9, 2.0, 2.05]).unwrap();
        let interval = many.interval.unwrap();
        assert!(interval.contains(2.0) && !interval.contains(1.0));
        assert!(ratio(&[]).is_none());
    }
}
