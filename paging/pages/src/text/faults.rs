//! Where page faults were, and what less memory costs.

use super::options::INDENT;
use crate::facts::PagingFacts;
use crate::section::faults::{KINDS, sentences};
use fathomp_faults::{FaultCounts, FaultFacts};
use fathomp_report::text::{Grid, printable, wrapped};
use fathomp_types::units::{NOTHING, percent, short_count};

/// Source lines that are listed.
const LINES_MAX: usize = 8;
/// Variables that are listed.
const VARIABLES_MAX: usize = 6;
/// Lines and variables with less than this part of all faults are not.
const SHARE_MIN: f64 = 0.005;

/// Lines and variables with the most faults, if each fault was recorded.
pub(super) fn show(paging: &PagingFacts, width: usize) -> Option<String> {
    let facts = paging.faults.as_ref()?;
    let mut text = String::new();
    let advice = paging.advice.iter().map(|one| printable(one.sentence()));
    for sentence in sentences(facts).into_iter().chain(advice) {
        text.push_str(&wrapped(&sentence, width, ""));
    }
    let lines = facts.lines.iter().take(LINES_MAX);
    let lines = lines.map(|row| (&*row.place.label, row.counts));
    let variables = facts.variables.iter().take(VARIABLES_MAX);
    let variables = variables.map(|row| (&*row.name, row.counts));
    text.push_str(&table("Faults at", facts, lines, width));
    text.push_str(&table("Faults on", facts, variables, width));
    Some(text)
}

fn table<'a>(
    title: &'static str,
    facts: &FaultFacts,
    rows: impl Iterator<Item = (&'a str, FaultCounts)>,
    width: usize,
) -> String {
    let all = facts.counts.total().max(1) as f64;
    let kinds: Vec<_> = KINDS
        .iter()
        .filter(|(_, _, of)| of(&facts.counts) > 0)
        .collect();
    let mut grid = Grid::new(title).column("Faults", 0).column("Share", 0);
    for (_, name, _) in &kinds {
        grid = grid.column(*name, 1);
    }
    for (name, counts) in rows {
        let share = counts.total() as f64 / all;
        if share < SHARE_MIN {
            continue;
        }
        let mut cells = vec![short_count(counts.total()), percent(share)];
        cells.extend(kinds.iter().map(|(_, _, of)| match of(&counts) {
            0 => NOTHING.to_owned(),
            count => short_count(count),
        }));
        grid.row(printable(name), cells);
    }
    if grid.is_empty() {
        return String::new();
    }
    grid.render(width)
}

/// What less memory costs, if that was tried.
pub(super) fn memory(paging: &PagingFacts, width: usize) -> Option<String> {
    let curve = paging.memory.as_ref()?;
    let sentence = printable(&curve.sentence);
    let text = wrapped(&sentence, width - INDENT.len(), INDENT);
    (!sentence.is_empty()).then(|| format!("Memory: {text}"))
}
