//! The page of runs from which nothing may be concluded.

use super::{summary, words};
use crate::Input;
use fathomp_diagnosis::Diagnosis;

/// What is left to say of broken runs: what was seen, no conclusions.
pub(super) fn without_conclusions<'a>(input: &Input<'a>) -> Input<'a> {
    Input {
        analyses: input.main().map_or(&[], std::slice::from_ref),
        prediction: None,
        nodes: None,
        advice: None,
        sources: None,
        ..*input
    }
}

/// The summary: `sentence` first, then what was seen.
pub(super) fn findings(input: &Input<'_>, sentence: &str) -> Vec<summary::Finding> {
    let seen = summary::findings(&without_conclusions(input), &Diagnosis::default());
    let first = summary::Finding {
        kind: "Outcome",
        text: words::bound(sentence),
    };
    let seen = seen
        .into_iter()
        .filter(|finding| matches!(finding.kind, "Cost" | "Time"));
    std::iter::once(first).chain(seen).collect()
}
