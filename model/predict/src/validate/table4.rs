//! The published table 4: mean errors by protocol, class, choice of programs and predictor, a
//! column for each number of threads.

use super::rows::{Predictor, Row};
use crate::published::{Speedup, Table4Row, of_speedups};

/// The table of these rows.
#[must_use]
pub fn table4(rows: &[Row]) -> Vec<Table4Row<Predictor>> {
    let speedups = rows.iter().flat_map(|row| {
        row.predictions.iter().map(move |cell| Speedup {
            protocol: row.protocol,
            program: &row.program,
            threads: row.threads,
            predictor: cell.predictor,
            predicted: cell.speedup,
            observed: row.speedup_observed,
        })
    });
    of_speedups(&speedups.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::rows::Cell;
    use super::*;
    use fathomp_launch::Protocol;

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
}
