//! Mean errors in the form of the published table 4: a row for each protocol, class, choice of
//! programs and predictor, a column for each number of threads.

use super::rows::{Predictor, Row};
use crate::published::mean_relative_error;
use fathomp_launch::Protocol;
use serde::Serialize;
use std::collections::BTreeSet;

/// Programs whose speedups the paper leaves out of some means: they do so badly on a cluster
/// that their relative errors outweigh all others.
const LEFT_OUT: [&[&str]; 3] = [&[], &["lu"], &["lu", "cg"]];

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table4Row {
    /// What shared memory between nodes; none for threads of one process.
    pub protocol: Option<Protocol>,
    /// The programs' class, such as A; empty if they have none.
    pub class: String,
    /// Which programs: `all`, `without LU`, `without LU and CG`.
    pub subset: String,
    /// Who predicts.
    pub predictor: Predictor,
    /// Mean of |predicted - observed| / observed, and of how many programs, by number of threads.
    pub errors: Vec<(u32, f64, u32)>,
}

/// `cg` and `A` of `cg.A`.
fn parts(program: &str) -> (String, String) {
    let (name, class) = match program.rsplit_once('.') {
        Some((name, class)) if matches!(class, "S" | "W" | "A" | "B" | "C" | "D") => (name, class),
        _ => (program, ""),
    };
    let name = name.rsplit('/').next().unwrap_or(name);
    (name.to_ascii_lowercase(), class.to_owned())
}

fn subset(left_out: &[&str]) -> String {
    match left_out {
        [] => "all".to_owned(),
        names => format!(
            "without {}",
            names
                .join(" and ")
                .to_ascii_uppercase()
                .replace(" AND ", " and ")
        ),
    }
}

/// The table of these rows.
#[must_use]
pub fn table4(rows: &[Row]) -> Vec<Table4Row> {
    let kinds: BTreeSet<(Option<&str>, String)> = rows
        .iter()
        .map(|row| (row.protocol.map(Protocol::name), parts(&row.program).1))
        .collect();
    let mut table = Vec::new();
    for (protocol, class) in kinds {
        let of_kind: Vec<&Row> = rows
            .iter()
            .filter(|row| row.protocol.map(Protocol::name) == protocol)
            .filter(|row| parts(&row.program).1 == class)
            .collect();
        let mut before = usize::MAX;
        for left_out in LEFT_OUT {
            let kept: Vec<&Row> = of_kind
                .iter()
                .copied()
                .filter(|row| !left_out.contains(&parts(&row.program).0.as_str()))
                .collect();
            // Leaving out what is not there changes nothing.
            if kept.is_empty() || kept.len() == before {
                continue;
            }
            before = kept.len();
            table.extend(of_programs(&kept, &class, &subset(left_out)));
        }
    }
    table
}

fn of_programs(rows: &[&Row], class: &str, subset: &str) -> Vec<Table4Row> {
    let cells = || {
        rows.iter()
            .flat_map(|row| row.predictions.iter().map(move |cell| (row, cell)))
    };
    let predictors: BTreeSet<Predictor> = cells().map(|(_, cell)| cell.predictor).collect();
    let threads: BTreeSet<u32> = rows.iter().map(|row| row.threads).collect();
    predictors
        .into_iter()
        .map(|predictor| Table4Row {
            protocol: rows.first().and_then(|row| row.protocol),
            class: class.to_owned(),
            subset: subset.to_owned(),
            predictor,
            errors: threads
                .iter()
                .filter_map(|threads| {
                    let pairs: Vec<(f64, f64)> = cells()
                        .filter(|(row, cell)| {
                            row.threads == *threads && cell.predictor == predictor
                        })
                        .map(|(row, cell)| (cell.speedup, row.speedup_observed))
                        .collect();
                    Some((*threads, mean_relative_error(&pairs)?, pairs.len() as u32))
                })
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows::Cell;
    use super::*;

    fn rows(protocol: Protocol, table: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        for line in table.lines().filter(|line| !line.starts_with(['#', 'c'])) {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |at: usize| fields[at].parse::<f64>().ok();
            let Some(observed) = number(4) else { continue };
            let cell = |predictor, at| {
                let speedup = number(at)?;
                Some(Cell {
                    predictor,
                    speedup,
                    relative_error: speedup / observed - 1.0,
                    inside: None,
                })
            };
            let predictions = [
                cell(Predictor::Critical, 5),
                cell(Predictor::AggregateF0, 6),
            ];
            rows.push(Row::of_speedups(
                &format!("{}.{}", fields[1].to_lowercase(), fields[0]),
                fields[3].parse().unwrap(),
                Some(protocol),
                observed,
                predictions.into_iter().flatten().collect(),
            ));
        }
        rows
    }

    /// The published speedups give the published table, but for rounding, of which speedups of two
    /// decimals leave much.
    #[test]
    fn the_published_speedups_give_the_published_table() {
        let mut all = rows(
            Protocol::Homeless,
            include_str!("../../tests/published/sdp_table2_clomp_speedup.csv"),
        );
        all.extend(rows(
            Protocol::Home,
            include_str!("../../tests/published/sdp_table3_sclib_speedup.csv"),
        ));
        let table = table4(&all);
        let published = include_str!("../../tests/published/sdp_table4_relative_error.csv");
        let (mut checked, mut near) = (0, 0);
        for line in published.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let protocol = match fields[0] {
                "CLOMP" => Protocol::Homeless,
                _ => Protocol::Home,
            };
            let predictor = match fields[3] {
                "critical" => Predictor::Critical,
                _ => Predictor::AggregateF0,
            };
            let of = |subset: &str| {
                let mut same = table.iter().filter(|row| row.predictor == predictor);
                same.find(|row| {
                    (row.protocol, row.class.as_str(), row.subset.as_str())
                        == (Some(protocol), fields[1], subset)
                })
            };
            // Of one class, LU was not measured at all.
            let found = of(fields[2]).or_else(|| of("all"));
            let Some(found) = found else {
                panic!("no row for {line}");
            };
            for (at, threads) in [(4, 2), (5, 4), (6, 8)] {
                let expected: f64 = fields[at].parse().unwrap();
                let error = found
                    .errors
                    .iter()
                    .find(|error| error.0 == threads)
                    .unwrap()
                    .1;
                near += u32::from((error - expected).abs() < 0.03);
                checked += 1;
            }
        }
        assert_eq!(checked, 36);
        assert!(near >= 30, "{near} of {checked} agree");
    }

    #[test]
    fn names_have_classes() {
        assert_eq!(parts("npb/cg.A"), ("cg".to_owned(), "A".to_owned()));
        assert_eq!(parts("LU.S").0, "lu");
        assert_eq!(parts("solver"), ("solver".to_owned(), String::new()));
        assert_eq!(parts("solver.exe").1, "");
        assert_eq!(subset(&["lu", "cg"]), "without LU and CG");
    }
}
