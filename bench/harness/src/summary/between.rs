//! Measurements before and after a change, row by row.

use super::estimate::Evidence;
use super::{Quantity, columns, compare, gather};
use crate::result::Document;
use crate::suite::SuiteName;
use fathomp_stats::{Ratio, geometric_mean};
use fathomp_tables::Grid;
use serde::Serialize;
use std::collections::BTreeMap;

/// Rows that differ by less are not called faster or slower.
const MATTERS: f64 = 0.01;

/// Results of two or more sides, of which the others are compared with the first.
#[derive(Clone, Debug, Serialize)]
pub struct Between {
    /// As the user named them.
    pub sides: Vec<String>,
    /// What became of the rows, one sentence for each side but the first.
    pub summary: Vec<String>,
    /// What makes the comparison doubtful, each as one sentence.
    pub doubts: Vec<String>,
    /// Rows that the first side and another have, in the order of tables.
    pub rows: Vec<Compared>,
}

/// One case with one team size on all sides.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Which suite.
    pub suite: SuiteName,
    /// The case.
    pub name: String,
    /// Compiler and runtime.
    pub column: String,
    /// Size of the team.
    pub threads: u32,
    /// What the values are.
    pub quantity: Quantity,
    /// By side: median over processes of the median over samples; none where it was not measured.
    pub values: Vec<Option<f64>>,
    /// By side, how many times as much time it takes as on the first (of bandwidth: how many times
    /// as little there is); none for the first, and where both values are too small to be told from
    /// nothing. Processes count as runs.
    pub ratios: Vec<Option<Ratio>>,
}

/// Why sides cannot be compared.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BetweenError {
    /// They have no row in common.
    #[error(
        "{0} has no row in common with any of the others: measure the same suites with the same compilers, runtimes and threads"
    )]
    NothingInCommon(String),
}

/// What tells rows apart.
type Key = (SuiteName, usize, Vec<u64>, u32, String);

impl Between {
    /// Compares documents of several sides, each with its name.
    ///
    /// # Errors
    /// If they have no row in common.
    pub fn of(sides: &[(String, Vec<Document>)]) -> Result<Self, BetweenError> {
        let mut order: Vec<(SuiteName, String)> = Vec::new();
        let mut found: BTreeMap<Key, (String, Vec<Option<Evidence>>)> = BTreeMap::new();
        for (side, (_, documents)) in sides.iter().enumerate() {
            let (columns, places) = columns(documents);
            for (seed, one) in gather(documents, &places, columns.len()).iter().enumerate() {
                let row = (one.suite, one.row.row.clone());
                let at = order
                    .iter()
                    .position(|known| *known == row)
                    .unwrap_or(order.len());
                if at == order.len() {
                    order.push(row);
                }
                let values = one.case.values.iter().map(|value| format!(" {value}"));
                let name = one.row.stem() + &values.collect::<String>();
                for (column, processes) in columns.iter().zip(&one.processes) {
                    let evidence =
                        Evidence::gather(one.row, one.case, one.threads, processes, seed as u64);
                    let protocol = column.column.protocol.as_deref();
                    let column = match protocol {
                        Some(protocol) => format!("{} {protocol}", column.column.name()),
                        None => column.column.name(),
                    };
                    let key = (one.suite, at, one.case.values.clone(), one.threads, column);
                    let (_, all) = found
                        .entry(key)
                        .or_insert_with(|| (name.clone(), sides.iter().map(|_| None).collect()));
                    all[side] = all[side].take().or(evidence);
                }
            }
        }
        let rows: Vec<Compared> = found
            .into_iter()
            .filter_map(|(key, (name, all))| Compared::new(key, name, &all))
            .collect();
        let names: Vec<String> = sides.iter().map(|(name, _)| name.clone()).collect();
        if rows.is_empty() {
            return Err(BetweenError::NothingInCommon(
                names.first().cloned().unwrap_or_default(),
            ));
        }
        Ok(Self {
            summary: (1..sides.len())
                .map(|side| summary(&names, &rows, side))
                .collect(),
            doubts: doubts(sides, &rows),
            sides: names,
            rows,
        })
    }

    /// Rows that certainly became slower by more than `part`, each as a clause.
    #[must_use]
    pub fn slower_by(&self, part: f64) -> Vec<String> {
        let rows = self.rows.iter().flat_map(|row| {
            let ratios = row.ratios.iter().enumerate();
            ratios.filter_map(move |(side, ratio)| {
                let ratio = (*ratio)?;
                let interval = ratio.interval.filter(|one| one.low > 1.0 + part)?;
                Some(format!(
                    "{} of {} takes {:.2} ({:.2} to {:.2}) times as much with {} threads",
                    row.name,
                    self.sides[side],
                    ratio.value,
                    interval.low,
                    interval.high,
                    row.threads
                ))
            })
        });
        rows.collect()
    }

    /// Whether any row has an interval, so that a difference could be seen.
    #[must_use]
    pub fn can_tell(&self) -> bool {
        let mut ratios = self.rows.iter().flat_map(|row| row.ratios.iter().flatten());
        ratios.any(|ratio| ratio.interval.is_some())
    }
}

impl Compared {
    /// None if the first side or all others lack it, or what they measured is not the same.
    fn new(key: Key, name: String, all: &[Option<Evidence>]) -> Option<Self> {
        let first = all.first()?.as_ref()?;
        let same = |one: &&Evidence| one.quantity == first.quantity;
        let own = |side: usize| all[side].as_ref().filter(same);
        let others: Vec<&Evidence> = (1..all.len()).filter_map(own).collect();
        if others.is_empty() {
            return None;
        }
        let floor = compare::floor(first, &others);
        let raised = |one: &Evidence| -> Vec<f64> {
            let medians = one.medians.iter();
            medians.map(|value| value.max(floor)).collect()
        };
        let ratio = |own: &Evidence| {
            let small = |one: &Evidence| one.estimate.value <= floor;
            let told = !(small(first) && small(own));
            let [before, after] = match first.quantity.is_time() {
                true => [raised(first), raised(own)],
                false => [raised(own), raised(first)],
            };
            Ratio::of_medians(&before, &after).filter(|_| told)
        };
        let (suite, _, _, threads, column) = key;
        Some(Self {
            suite,
            name,
            column,
            threads,
            quantity: first.quantity,
            values: (0..all.len())
                .map(|side| Some(own(side)?.estimate.value))
                .collect(),
            ratios: (0..all.len())
                .map(|side| own(side).filter(|_| side > 0).and_then(ratio))
                .collect(),
        })
    }

    /// A word for a table.
    fn verdict(&self, side: usize) -> &'static str {
        let Some(ratio) = self.ratios.get(side).copied().flatten() else {
            return "";
        };
        match ratio.interval {
            None => "single runs",
            Some(_) if !ratio.differs() => "no difference seen",
            Some(_) if (ratio.value - 1.0).abs() < MATTERS => "little difference",
            Some(_) if ratio.value > 1.0 => "slower",
            Some(_) => "faster",
        }
    }
}

fn summary(names: &[String], rows: &[Compared], side: usize) -> String {
    let count = |word: &str| rows.iter().filter(|row| row.verdict(side) == word).count();
    let ratios = rows.iter().filter_map(|row| row.ratios[side]);
    let ratios: Vec<f64> = ratios.map(|ratio| ratio.value).collect();
    let mean = geometric_mean(&ratios).map_or_else(String::new, |mean| {
        format!(" The geometric mean of all ratios of times is {mean:.2}.")
    });
    let (faster, slower) = (count("faster"), count("slower"));
    let all = ratios.len();
    let (name, first) = (&names[side], &names[0]);
    match faster + slower {
        0 if count("single runs") > 0 => format!(
            "One process on each side cannot tell whether {name} differs from {first}: measure with --runs 5.{mean}"
        ),
        0 => format!(
            "No difference can be seen between {first} and {name} in any of {all} rows.{mean}"
        ),
        _ => format!(
            "Of {all} rows, {name} is certainly faster than {first} in {faster} and slower in {slower}.{mean}"
        ),
    }
}

fn doubts(sides: &[(String, Vec<Document>)], rows: &[Compared]) -> Vec<String> {
    let mut doubts = Vec::new();
    let machines = |documents: &[Document]| -> Vec<String> {
        let mut all: Vec<String> = documents
            .iter()
            .map(|one| {
                format!(
                    "{} ({}, {} processors)",
                    one.machine.host, one.machine.processor, one.machine.processors
                )
            })
            .collect();
        all.sort();
        all.dedup();
        all
    };
    let versions = |documents: &[Document]| -> Vec<String> {
        let columns = documents.iter().flat_map(|one| &one.columns);
        let mut all: Vec<String> = columns.map(|one| one.compiler_version.clone()).collect();
        all.sort();
        all.dedup();
        all
    };
    let Some(((first_name, first), others)) = sides.split_first() else {
        return doubts;
    };
    for (side, (name, own)) in (1..).zip(others) {
        for (what, [here, there]) in [
            ("was measured on", [machines(own), machines(first)]),
            ("was built by", [versions(own), versions(first)]),
        ] {
            if here != there {
                doubts.push(format!(
                    "{name} {what} {}, {first_name} by or on {}.",
                    here.join(", "),
                    there.join(", ")
                ));
            }
        }
        let missing = rows.iter().filter(|row| row.values[side].is_none()).count();
        if missing > 0 {
            doubts.push(format!(
                "{name} lacks {missing} of the rows that are compared."
            ));
        }
    }
    doubts
}

/// The table that people read.
#[must_use]
pub fn text(between: &Between, width: usize) -> String {
    let mut grid = Grid::new("Row").whole_names().words("Threads", 0);
    for (side, name) in between.sides.iter().enumerate() {
        grid = grid.column(name, 0);
        if side > 0 {
            grid = grid.words("ratio", 0);
        }
    }
    for row in &between.rows {
        let mut cells = vec![row.threads.to_string()];
        for (side, value) in row.values.iter().enumerate() {
            let unit = row.quantity.unit();
            cells.push(value.map_or("-".to_owned(), |value| format!("{value:.1} {unit}")));
            if side > 0 {
                let numbers = match row.ratios[side] {
                    None => "-".to_owned(),
                    Some(Ratio {
                        value,
                        interval: None,
                    }) => format!("{value:.2}"),
                    Some(Ratio {
                        value,
                        interval: Some(one),
                    }) => {
                        format!("{value:.2} ({:.2} to {:.2})", one.low, one.high)
                    }
                };
                cells.push(format!("{numbers} {}", row.verdict(side)).trim().to_owned());
            }
        }
        grid.row(format!("{} {}", row.name, row.column), cells);
    }
    let summary = between
        .summary
        .iter()
        .map(|line| fathomp_tables::wrapped(line, fathomp_tables::readable(width), ""));
    summary.collect::<String>() + "\n" + &grid.render(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    /// The same measurement with all times so many times as long.
    fn times(factor: f64) -> Vec<Document> {
        let mut document = synthetic::epcc();
        document.id = format!("{factor}");
        for process in document
            .cells
            .iter_mut()
            .flat_map(|cell| &mut cell.processes)
        {
            let all = process
                .construct_ns
                .iter_mut()
                .chain(&mut process.reference_ns);
            all.for_each(|ns| *ns *= factor);
        }
        vec![document]
    }

    fn between(factor: f64) -> Between {
        let sides = [
            ("a".to_owned(), times(1.0)),
            ("b".to_owned(), times(factor)),
        ];
        Between::of(&sides).unwrap()
    }

    #[test]
    fn what_is_the_same_is_not_told_apart() {
        let same = between(1.0);
        assert!(same.slower_by(0.0).is_empty());
        assert!(!same.rows.is_empty() && same.rows.iter().all(|row| row.verdict(1) != "slower"));
        assert!(!same.summary[0].contains("certainly"), "{:?}", same.summary);
    }

    #[test]
    fn what_takes_three_times_as_long_is_slower() {
        let slower = between(3.0);
        assert!(slower.can_tell() && !slower.slower_by(0.5).is_empty());
        assert!(slower.slower_by(4.0).is_empty());
        assert!(text(&slower, 100).contains("slower"));
        assert!(between(1.0 / 3.0).summary[0].contains("certainly faster"));
    }

    #[test]
    fn results_without_a_common_row_are_refused() {
        let mut other = times(1.0);
        for cell in &mut other[0].cells {
            cell.threads += 100;
        }
        let sides = [("a".to_owned(), times(1.0)), ("b".to_owned(), other)];
        assert!(Between::of(&sides).is_err());
    }
}
