//! The summary as tables for pages in Markdown.

use super::table::{factor, number, sets, title, verdict};
use crate::summary::{Estimate, Point, Quantity, Ratio, Summary};
use std::fmt::Write as _;

/// A table per suite, team size and quantity: values, and what the subject takes of each other
/// column's. Below it what they add up to, and what makes them doubtful.
#[must_use]
pub fn markdown(summary: &Summary) -> String {
    let mut out = String::new();
    for points in sets(summary) {
        set(&mut out, summary, &points);
    }
    for warning in &summary.warnings {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(out, "- {warning}");
    }
    out
}

fn set(out: &mut String, summary: &Summary, points: &[&Point]) {
    let Some(first) = points.first() else { return };
    let columns: Vec<usize> = (0..summary.columns.len())
        .filter(|index| points.iter().any(|point| point.entries[*index].is_some()))
        .collect();
    let name = |index: usize| escaped(&summary.columns[index].name);
    let others: Vec<usize> = columns
        .iter()
        .copied()
        .filter(|index| points.iter().any(|point| to(point, *index).is_some()))
        .collect();
    let _ = writeln!(
        out,
        "{}; ratios to others: median of pairs, and 95 % interval\n",
        title(summary, first, &columns)
    );
    let titles = columns.iter().map(|index| name(*index));
    let titles = titles.chain(others.iter().map(|index| format!("to {}", name(*index))));
    let titles: Vec<String> = ["case".to_owned()].into_iter().chain(titles).collect();
    let _ = writeln!(out, "| {} |", titles.join(" | "));
    let _ = writeln!(out, "|---|{}", "--:|".repeat(titles.len() - 1));
    for point in points {
        let values = columns.iter().map(|index| match &point.entries[*index] {
            None => "-".to_owned(),
            Some(entry) => entry.estimate.as_ref().map_or("failed".to_owned(), value),
        });
        let ratios = others
            .iter()
            .map(|index| to(point, *index).map_or("-".to_owned(), ratio));
        let cells: Vec<String> = [escaped(&point.name())]
            .into_iter()
            .chain(values)
            .chain(ratios)
            .collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
    for one in &summary.verdicts {
        let here = (one.suite, one.threads) == (first.suite, first.threads);
        if here && first.quantity == Quantity::OverheadNs {
            verdict(out, summary, one);
            out.push('\n');
        }
    }
}

/// The subject's ratio to that column.
fn to(point: &Point, column: usize) -> Option<&Ratio> {
    point.ratios.iter().find(|ratio| ratio.against == column)
}

fn value(estimate: &Estimate) -> String {
    number(Some(estimate.value))
}

fn ratio(ratio: &Ratio) -> String {
    let (low, high) = (factor(ratio.interval.low), factor(ratio.interval.high));
    let unseen = if ratio.at_floor {
        ", too small to see"
    } else {
        ""
    };
    format!("{} ({low} to {high}{unseen})", factor(ratio.value))
}

/// Text that means nothing else in a cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::summarise;
    use crate::synthetic;

    #[test]
    fn all_rows_have_as_many_cells() {
        let documents = [synthetic::epcc(), synthetic::access()];
        let text = markdown(&summarise(&documents, None));
        let mut tables = 0;
        let mut cells = None;
        for line in text.lines() {
            match line.starts_with('|') {
                true => {
                    let here = line.matches('|').count();
                    assert_eq!(*cells.get_or_insert(here), here, "{line}");
                }
                false if cells.take().is_some() => tables += 1,
                false => {}
            }
        }
        assert!(tables >= 2, "{text}");
        for part in [
            "epcc, 2 threads: overhead in ns",
            "| DYNAMIC 16 |",
            "geometric mean",
            " to ",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
