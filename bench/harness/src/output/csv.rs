//! Results as CSV: one line per case, team size, column and run.

use crate::result::Document;
use crate::summary::Quantity;
use crate::{moments::Moments, noise::undisturbed};
use fathomp_stats::median;
use fathomp_types::text::csv_field;
use std::fmt::Write as _;

/// The columns. Values are in `unit`; times end in their unit; fields are empty
/// where there is nothing.
pub const HEADER: &str = "result,host,suite,group,row,case,parameters,threads,compiler,runtime,\
affinity,wait_policy,run,quantity,unit,median,mean,sd,min,max,outliers,samples,rejected,\
reference_ns,cycles_per_ns,failure";

/// All documents, under [`HEADER`].
#[must_use]
pub fn csv(documents: &[Document]) -> String {
    let mut out = format!("{HEADER}\n");
    for document in documents {
        for cell in &document.cells {
            lines(&mut out, document, cell);
        }
    }
    out
}

fn lines(out: &mut String, document: &Document, cell: &crate::result::Cell) {
    let (Some(row), Some(column)) = (
        document.row(&cell.case.row),
        document.columns.get(cell.column),
    ) else {
        return;
    };
    let parameters: Vec<String> = row
        .parameters
        .iter()
        .zip(&cell.case.values)
        .map(|(parameter, value)| format!("{}={value}", parameter.name))
        .collect();
    let settings = &document.settings;
    let facts = [
        csv_field(&document.id),
        csv_field(&document.machine.host),
        document.suite.name().to_owned(),
        csv_field(&row.group),
        csv_field(&row.row),
        csv_field(&row.case_name(&cell.case.values)),
        csv_field(&parameters.join(" ")),
        cell.threads.to_string(),
        csv_field(&column.compiler),
        csv_field(&column.runtime),
        settings.affinity.name().to_owned(),
        settings.wait_policy.name().to_owned(),
    ]
    .join(",");
    let cycles = document.clocks.cycles_per_ns();
    let cycles = cycles.map_or_else(String::new, |(rate, _)| rate.to_string());
    for process in &cell.processes {
        let quantity = Quantity::of(row, process);
        let kept = undisturbed(process, cell.threads);
        let values = quantity.values(row, &cell.case, process, &kept);
        let (Some(middle), Some(moments)) = (median(&values), Moments::of(&values)) else {
            continue;
        };
        let reference = median(&process.reference_ns);
        let reference = reference.map_or_else(String::new, |ns| ns.to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{facts},{},{},{},{middle},{},{},{},{},{},{},{},{reference},{cycles},",
            process.run,
            quantity.title(),
            quantity.unit(),
            moments.mean,
            moments.sd,
            moments.min,
            moments.max,
            moments.outliers,
            moments.count,
            process.construct_ns.len() - kept.len(),
        );
    }
    if let Some(failure) = &cell.failure {
        let _ = writeln!(out, "{facts},,,,,,,,,,,,,{cycles},{}", csv_field(failure));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn every_line_has_every_field() {
        let text = csv(&[synthetic::epcc(), synthetic::access()]);
        let fields = HEADER.split(',').count();
        let mut lines = 0;
        for line in text.lines() {
            assert!(!line.contains('"') || line.contains("SIGSEGV"), "{line}");
            if !line.contains('"') {
                assert_eq!(line.split(',').count(), fields, "{line}");
            }
            lines += 1;
        }
        let cells = |document: &Document| -> usize {
            document.cells.iter().map(|cell| cell.processes.len()).sum()
        };
        let expected = cells(&synthetic::epcc()) + cells(&synthetic::access());
        assert_eq!(lines, 1 + expected + 1, "header, runs, one failure");
    }

    #[test]
    fn a_line_says_what_was_measured() {
        let text = csv(&[synthetic::epcc()]);
        let line = text
            .lines()
            .find(|line| line.contains("DYNAMIC 16"))
            .unwrap();
        assert!(
            line.contains("epcc,sched,DYNAMIC n,DYNAMIC 16,chunk=16,1,gcc,fathomp"),
            "{line}"
        );
        assert!(line.contains(",overhead,ns,"), "{line}");
    }
}
