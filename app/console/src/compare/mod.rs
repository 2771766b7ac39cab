//! Whether a program wrote the same with every number of threads.
//!
//! A result that depends on the number of threads is the first sign of a data
//! race, or of sums in another order; a speed-up of wrong results is none. Times
//! differ in every run, and lines of threads come in any order: what differs is
//! only called a difference if neither explains it. Where in doubt nothing is
//! said.

mod line;

use crate::launch::Printed;
use fathomp_trace::model::OutputDifference;
use line::Token;

/// Lines that are compared in any order; if more differ, order counts.
const SHUFFLED_LINES_MAX: usize = 2000;
/// Characters of a line that are quoted.
const QUOTED_CHARS: usize = 160;

/// The output of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Threads that it had.
    pub threads: u32,
    /// Its standard output.
    pub printed: &'a Printed,
}

/// A line that counts.
#[derive(Clone, Debug)]
struct Line<'a> {
    /// From 1.
    number: usize,
    text: &'a str,
    tokens: Vec<Token<'a>>,
}

/// Where each run's output differs from that of the run with the fewest
/// threads; `again` are more runs with as many as that one.
pub fn differences(runs: &[Run<'_>], again: &[&Printed]) -> Vec<Option<OutputDifference>> {
    let first = runs.iter().min_by_key(|run| run.threads);
    let Some(first) = first.filter(|run| run.printed.bytes > 0) else {
        return vec![None; runs.len()];
    };
    let alike = runs
        .iter()
        .filter(|run| run.threads == first.threads)
        .map(|run| run.printed)
        .chain(again.iter().copied());
    let texts: Vec<String> = alike.map(text).collect();
    let reference = text(first.printed);
    let mut expected = lines(&reference);
    let mut varies = false;
    for other in &texts {
        varies |= mark_differences(&mut expected, &lines(other));
    }
    runs.iter()
        .map(|run| {
            let same =
                run.printed.bytes == first.printed.bytes && run.printed.hash == first.printed.hash;
            // What varies by itself in more than numbers cannot be compared; of
            // what was not kept nothing is known.
            let unknown = varies || !run.printed.is_whole() || !first.printed.is_whole();
            if same || unknown || run.threads == first.threads {
                return None;
            }
            let here = text(run.printed);
            difference(&lines(&here), &expected, [run.threads, first.threads])
        })
        .collect()
}

fn text(printed: &Printed) -> String {
    String::from_utf8_lossy(&printed.text).into_owned()
}

/// The lines of an output that are not about how work was shared out.
fn lines(text: &str) -> Vec<Line<'_>> {
    let mut heading: Vec<Token<'_>> = Vec::new();
    let mut lines = Vec::new();
    // What was overwritten on a terminal was not meant to stay.
    let shown = |text: &'_ str| {
        text.trim_end_matches('\r')
            .rfind('\r')
            .map_or(0, |at| at + 1)
    };
    for (number, whole) in (1..).zip(text.lines()) {
        let text = whole.get(shown(whole)..).unwrap_or(whole);
        let mut tokens = line::tokens(text);
        if line::is_heading(&tokens) {
            heading.clone_from(&tokens);
        } else if line::is_row(&tokens) && tokens.len() == heading.len() {
            line::mark_columns(&mut tokens, &heading);
        }
        if !tokens.is_empty() && !line::is_about_shares(&tokens) {
            lines.push(Line {
                number,
                text,
                tokens,
            });
        }
    }
    lines
}

/// Marks what differs between runs that are alike. True if that is more than
/// numbers.
fn mark_differences<'a>(expected: &mut [Line<'a>], other: &[Line<'a>]) -> bool {
    let same_shape = expected.len() == other.len()
        && expected
            .iter()
            .zip(other)
            .all(|(ours, theirs)| line::same_words(&ours.tokens, &theirs.tokens));
    if same_shape {
        for (ours, theirs) in expected.iter_mut().zip(other) {
            line::mark_differences(&mut ours.tokens, &theirs.tokens);
        }
        return false;
    }
    // The same lines in another order are no difference.
    difference(other, expected, [0, 0]).is_some()
}

/// The first place where `here` differs from what was expected.
fn difference(
    here: &[Line<'_>],
    expected: &[Line<'_>],
    threads: [u32; 2],
) -> Option<OutputDifference> {
    let alike =
        |ours: &Line<'_>, theirs: &Line<'_>| line::alike(&ours.tokens, &theirs.tokens, threads);
    let same = here
        .iter()
        .zip(expected)
        .take_while(|(ours, theirs)| alike(ours, theirs))
        .count();
    let (here_rest, expected_rest) = (&here[same..], &expected[same..]);
    let many = here_rest.len().max(expected_rest.len()) > SHUFFLED_LINES_MAX;
    // Lines that the other run has as well, though elsewhere, are no difference.
    let mut missing: Vec<&Line<'_>> = expected_rest.iter().collect();
    let mut surplus: Vec<&Line<'_>> = Vec::new();
    if many {
        surplus.extend(here_rest);
    } else {
        for ours in here_rest {
            match missing.iter().position(|theirs| alike(ours, theirs)) {
                Some(found) => {
                    missing.remove(found);
                }
                None => surplus.push(ours),
            }
        }
    }
    // Each thread may write lines of a kind: more threads, more of them.
    let repeats = |one: &Line<'_>, others: &[Line<'_>]| {
        others
            .iter()
            .any(|other| line::same_words(&one.tokens, &other.tokens))
    };
    match (surplus.first(), missing.first()) {
        (None, None) => None,
        (Some(_), None) if surplus.iter().all(|ours| repeats(ours, expected)) => None,
        (None, Some(_)) if missing.iter().all(|theirs| repeats(theirs, here)) => None,
        (ours, theirs) => {
            // Of a line that says the same with other numbers, if there is one.
            let theirs = ours
                .and_then(|ours| {
                    missing
                        .iter()
                        .find(|theirs| line::same_words(&ours.tokens, &theirs.tokens))
                })
                .or(theirs);
            let number = ours.or(theirs).map_or(0, |line| line.number);
            let pairs = surplus.iter().zip(&missing);
            let slight = surplus.len() == missing.len()
                && pairs
                    .into_iter()
                    .all(|(ours, theirs)| line::nearly(&ours.tokens, &theirs.tokens, threads));
            Some(OutputDifference {
                line: number as u64,
                here: ours.map(|line| quoted(line.text)),
                there: theirs.map(|line| quoted(line.text)),
                other_threads: threads[1],
                slight,
            })
        }
    }
}

/// A line without what a terminal would act on, cut to a length.
fn quoted(text: &str) -> String {
    let clean: String = text
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match clean.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", clean.get(..end).unwrap_or_default()),
        None => clean,
    }
}

#[cfg(test)]
mod tests;
