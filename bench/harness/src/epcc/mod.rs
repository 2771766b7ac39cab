//! Results in the form in which EPCC's own programs and pages show them: of the times of the
//! work with a construct, not of paired differences as elsewhere here.

mod print;
mod read;

pub use print::text;
pub use read::{EpccError, is_output, read};

use crate::moments::{Moments, OverRuns};
use crate::result::Document;
use crate::suite::{Measures, SuiteName};
use serde::Serialize;

/// 95 % of a normal distribution lie within so many standard deviations.
const CONFIDENCE_SDS: f64 = 1.96;
const US: f64 = 1e-3;

/// A directive, measured by any number of runs; times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpccRow {
    /// Whose runs: a column, or a file.
    pub source: String,
    /// Size of the team; 0 if that is not known.
    pub threads: u32,
    /// The directive, with its parameter.
    pub name: String,
    /// Times of the work with it, of each run.
    pub runs: Vec<Moments>,
    /// Times of the work without it, likewise; as few as one for all runs.
    pub references: Vec<Moments>,
}

/// What the published table has of a directive, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EpccForm {
    /// Number of samples.
    pub samples: usize,
    /// Mean time with the directive.
    pub time: f64,
    /// 1.96 standard deviations of it.
    pub time_pm: f64,
    /// Mean time with it less that without.
    pub overhead: f64,
    /// As the program prints it: that of the time and that of the reference.
    pub overhead_pm: f64,
    /// Standard deviation of all samples.
    pub sd_samples: f64,
    /// Standard deviation of the runs' means; none of one run.
    pub sd_runs: Option<f64>,
    /// Largest standard deviation of a run.
    pub max_sd: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
    /// Samples beyond three standard deviations of their run.
    pub outliers: usize,
}

impl EpccRow {
    /// Runs and machines joined by what each run's moments say; none without runs.
    #[must_use]
    pub fn form(&self) -> Option<EpccForm> {
        let over = OverRuns::of(&self.runs)?;
        let reference = OverRuns::of(&self.references);
        let pm = CONFIDENCE_SDS * over.sd_samples;
        let fold = |of: fn(&Moments) -> f64, pick: fn(f64, f64) -> f64| {
            self.runs.iter().map(of).reduce(pick).unwrap_or(over.mean)
        };
        Some(EpccForm {
            samples: self.runs.iter().map(|run| run.count).sum(),
            time: over.mean,
            time_pm: pm,
            overhead: over.mean - reference.map_or(0.0, |reference| reference.mean),
            overhead_pm: pm + reference.map_or(0.0, |one| CONFIDENCE_SDS * one.sd_samples),
            sd_samples: over.sd_samples,
            sd_runs: over.sd_runs,
            max_sd: fold(|run| run.sd, f64::max),
            min: fold(|run| run.min, f64::min),
            max: fold(|run| run.max, f64::max),
            outliers: self.runs.iter().map(|run| run.outliers).sum(),
        })
    }

    /// The directive as all programs call it: `PARALLEL_FOR` is `PARALLEL FOR`.
    #[must_use]
    pub fn plain_name(&self) -> String {
        self.name.replace('_', " ").to_uppercase()
    }
}

/// What a document says of each directive, column by column. Documents of the same column,
/// as of several runs, are joined.
#[must_use]
pub fn rows(documents: &[Document]) -> Vec<EpccRow> {
    let mut rows: Vec<EpccRow> = Vec::new();
    let several = documents
        .iter()
        .any(|one| one.machine.host != documents[0].machine.host);
    for document in documents.iter().filter(|one| one.suite == SuiteName::Epcc) {
        for cell in &document.cells {
            let row = document.row(&cell.case.row);
            let Some(row) = row.filter(|row| row.measures == Measures::Overhead) else {
                continue;
            };
            let column = document
                .columns
                .get(cell.column)
                .map(|column| column.name());
            let mut source = column.unwrap_or_default();
            if several {
                source = format!("{source}, {}", document.machine.host);
            }
            let name = row.case_name(&cell.case.values);
            let in_us = |ns: &[f64]| Moments::of(&ns.iter().map(|ns| ns * US).collect::<Vec<_>>());
            let runs = cell
                .processes
                .iter()
                .filter_map(|one| in_us(&one.construct_ns));
            let references = cell
                .processes
                .iter()
                .filter_map(|one| in_us(&one.reference_ns));
            add(
                &mut rows,
                EpccRow {
                    source,
                    threads: cell.threads,
                    name,
                    runs: runs.collect(),
                    references: references.collect(),
                },
            );
        }
    }
    rows.retain(|row| !row.runs.is_empty());
    rows
}

/// Adds runs to those of the same directive, or a new row.
pub fn add(rows: &mut Vec<EpccRow>, row: EpccRow) {
    let same = |known: &&mut EpccRow| {
        (&known.source, known.threads, known.plain_name())
            == (&row.source, row.threads, row.plain_name())
    };
    match rows.iter_mut().find(same) {
        Some(known) => {
            known.runs.extend(row.runs);
            known.references.extend(row.references);
        }
        None => rows.push(row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn run(count: usize, mean: f64, sd: f64, min: f64, max: f64, outliers: usize) -> Moments {
        Moments {
            count,
            mean,
            sd,
            min,
            max,
            outliers,
        }
    }

    pub(super) fn row(run: Moments, reference: Moments) -> EpccRow {
        EpccRow {
            source: "gcc+libgomp".to_owned(),
            threads: 1,
            name: "PARALLEL".to_owned(),
            runs: vec![run],
            references: vec![reference],
        }
    }

    fn numbers(line: &str) -> Vec<Option<f64>> {
        line.split(',')
            .skip(1)
            .map(|field| field.parse().ok())
            .collect()
    }

    /// Each row of the published table follows from its mean and deviation by these formulas.
    #[test]
    fn the_published_table_follows() {
        let table = include_str!("../../tests/published/epcc_fig4_html_example.csv");
        let mut checked = 0;
        for line in table.lines().filter(|line| !line.starts_with(['#', 'd'])) {
            let all = numbers(line);
            let [
                Some(overhead),
                Some(pm),
                Some(time),
                Some(sd),
                Some(sd_runs),
                Some(max_sd),
            ] = all[..6]
            else {
                continue;
            };
            let (min, max) = (all[6].unwrap(), all[7].unwrap());
            let one = run(400, time, sd, min, max, all[8].unwrap() as usize);
            let form = row(one, run(400, 3.865, 0.0, 3.8, 3.9, 0)).form().unwrap();
            assert!((form.overhead - overhead).abs() < 0.005, "{line}");
            assert!(
                (form.time_pm - pm).abs() < 0.0021,
                "{line}: {}",
                form.time_pm
            );
            assert!(
                sd_runs <= sd + 1e-9 && form.max_sd <= max_sd.max(sd) + 1e-9,
                "{line}"
            );
            checked += 1;
        }
        assert_eq!(checked, 7);
    }

    #[test]
    fn runs_are_joined_by_their_moments() {
        let mut both = row(
            run(10, 5.0, 1.0, 4.0, 7.0, 1),
            run(10, 1.0, 0.1, 0.9, 1.2, 0),
        );
        let other = row(
            run(10, 7.0, 2.0, 3.0, 9.0, 2),
            run(10, 1.0, 0.1, 0.9, 1.2, 0),
        );
        both.name = "PARALLEL_FOR".to_owned();
        let mut rows = vec![both];
        add(
            &mut rows,
            EpccRow {
                name: "parallel for".to_owned(),
                ..other
            },
        );
        let form = rows[0].form().unwrap();
        assert_eq!((rows.len(), form.samples, form.outliers), (1, 20, 3));
        assert_eq!((form.time, form.overhead), (6.0, 5.0));
        assert_eq!((form.min, form.max, form.max_sd), (3.0, 9.0, 2.0));
        assert!((form.sd_runs.unwrap() - 2f64.sqrt()).abs() < 1e-9);
        // (9 * 1 + 9 * 4 + 10 + 10) / 19
        assert!((form.sd_samples - (65.0f64 / 19.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn documents_become_rows() {
        let rows = rows(&[synthetic::epcc(), synthetic::mcbench()]);
        let barrier = rows.iter().find(|row| row.name == "BARRIER").unwrap();
        let form = barrier.form().unwrap();
        assert!(form.time > form.overhead && form.samples > 1);
        assert!(rows.iter().all(|row| !row.name.contains("ROUND ROBIN")));
    }
}
