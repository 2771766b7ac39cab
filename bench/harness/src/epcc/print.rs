//! As text, in the lines that EPCC's programs print.

use super::EpccRow;
use std::fmt::Write as _;

const RULE: &str = "--------------------------------------------------------";
const HEADING: &str =
    "Sample_size       Average     Min         Max          S.D.          Outliers";

/// All rows as EPCC's programs (version 3) print them, one number of threads and one column
/// after the other. `samples` of a row are those of all its runs.
#[must_use]
pub fn text(rows: &[EpccRow]) -> String {
    let mut out = String::new();
    let mut shown: Option<(&str, u32)> = None;
    for row in sorted(rows) {
        let Some(form) = row.form() else { continue };
        // Writing to a String cannot fail, here and below.
        if shown != Some((&row.source, row.threads)) {
            let _ = writeln!(
                out,
                "{}Running OpenMP benchmark with {}\n\t{} thread(s)\n\t{} run(s)",
                if shown.is_some() { "\n" } else { "" },
                row.source,
                row.threads,
                row.runs.len()
            );
            shown = Some((&row.source, row.threads));
        }
        let name = &row.name;
        let _ = writeln!(
            out,
            "\n{RULE}\nComputing {name} time using {} samples\n\n{HEADING}",
            form.samples
        );
        let _ = writeln!(
            out,
            " {}                {:.6}   {:.6}   {:.6}    {:.6}      {}\n",
            form.samples, form.time, form.min, form.max, form.sd_samples, form.outliers
        );
        let _ = writeln!(
            out,
            "{name} time     = {:.6} microseconds +/- {:.6}",
            form.time, form.time_pm
        );
        let _ = writeln!(
            out,
            "{name} overhead = {:.6} microseconds +/- {:.6}",
            form.overhead, form.overhead_pm
        );
    }
    out
}

/// By source and threads; within these, in their order.
fn sorted(rows: &[EpccRow]) -> Vec<&EpccRow> {
    let mut sources: Vec<&str> = Vec::new();
    for row in rows {
        if !sources.contains(&row.source.as_str()) {
            sources.push(&row.source);
        }
    }
    let rank = |row: &EpccRow| sources.iter().position(|source| *source == row.source);
    let mut sorted: Vec<&EpccRow> = rows.iter().collect();
    sorted.sort_by_key(|row| (rank(row), row.threads));
    sorted
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;
    use crate::moments::Moments;

    /// The published example, to the digits that it has.
    #[test]
    fn the_published_example_is_printed() {
        let table = include_str!("../../tests/published/epcc_fig3_sample_output.csv");
        let line = table.lines().next_back().unwrap();
        let fields: Vec<f64> = line
            .split(',')
            .map(|field| field.parse().unwrap())
            .collect();
        let run = Moments {
            count: fields[0] as usize,
            mean: fields[1],
            min: fields[2],
            max: fields[3],
            sd: fields[4],
            outliers: fields[5] as usize,
        };
        let reference = Moments {
            count: 50,
            mean: 6.98,
            sd: 0.268 / 1.96,
            min: 6.9,
            max: 7.3,
            outliers: 0,
        };
        let text = text(&[row(run, reference)]);
        let found = |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap();
        let row = found(" 50 ");
        for number in ["12.367190", "12.109380", "12.890620", "0.202900"] {
            assert!(row.contains(number), "{row}");
        }
        assert!(row.ends_with(" 0"), "{row}");
        let near = |line: &str, value: f64, pm: f64| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words[words.len() - at].parse::<f64>().unwrap();
            assert!(
                (number(4) - value).abs() < 6e-3 && (number(1) - pm).abs() < 6e-4,
                "{line}"
            );
        };
        near(found("PARALLEL time "), fields[6], fields[7]);
        near(found("PARALLEL overhead"), fields[8], fields[9]);
    }
}
