//! How far the numbers can be trusted: what was not seen, and what looking
//! cost.

use super::{Fact, words};
use crate::{Input, units};
use fathomp_analyse::{Analysis, Severity};
use serde::Serialize;

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Trust {
    doubts: Vec<String>,
    facts: Vec<Fact>,
}

/// More doubts than anybody reads.
const DOUBTS_MAX: usize = 60;

/// Sentences repeated by several recordings are said once.
pub(crate) fn build(input: &Input<'_>) -> Trust {
    let mut doubts: Vec<(Severity, String, usize)> = Vec::new();
    for problem in input.analyses.iter().flat_map(|one| &one.problems) {
        match doubts.iter_mut().find(|known| known.1 == problem.sentence) {
            Some(known) => known.2 += 1,
            None => doubts.push((problem.severity, problem.sentence.clone(), 1)),
        }
    }
    doubts.sort_by_key(|(severity, ..)| *severity);
    let recordings = input.analyses.len();
    let mut doubts: Vec<String> = doubts
        .into_iter()
        .map(|(_, sentence, times)| {
            let sentence = words::shorten(&sentence, 1000);
            if recordings > 1 && times < recordings {
                format!("{sentence} (in {times} of {recordings} recordings)")
            } else {
                sentence
            }
        })
        .collect();
    if let Some(prediction) = input.prediction {
        for warning in &prediction.warnings {
            if !doubts.contains(warning) {
                doubts.push(words::shorten(warning, 1000));
            }
        }
    }
    doubts.extend(input.notes.iter().map(|note| words::shorten(note, 1000)));
    if doubts.len() > DOUBTS_MAX {
        let more = doubts.len() - DOUBTS_MAX;
        doubts.truncate(DOUBTS_MAX);
        doubts.push(format!("And {more} more; the JSON export has all."));
    }
    let mut facts = input.main().map(recording_facts).unwrap_or_default();
    if let Some(validation) = input.prediction.and_then(|one| one.validation.as_ref()) {
        facts.push(Fact::new(
            "Prediction checked",
            format!(
                "{} with {} predicted from fewer, measured {}: off by {}, {} the interval",
                units::duration(validation.predicted_ns),
                units::plural(validation.threads.into(), "thread"),
                units::duration(validation.measured_ns),
                units::percent(validation.relative_error.abs()),
                if validation.inside {
                    "inside"
                } else {
                    "outside"
                }
            ),
        ));
    }
    Trust { doubts, facts }
}

fn recording_facts(analysis: &Analysis) -> Vec<Fact> {
    let intrusion = &analysis.intrusion;
    let dropped: u64 = analysis
        .threads_seen
        .iter()
        .map(|thread| thread.dropped)
        .sum();
    vec![
        Fact::new(
            "Cost of recording",
            format!(
                "{} of the threads' time ({} of {} each), at most {} in a region; an estimate",
                units::percent(intrusion.fraction),
                units::plural(intrusion.events, "event"),
                units::duration(intrusion.event_cost_ns),
                units::percent(intrusion.worst_region_fraction)
            ),
        ),
        Fact::new(
            "Events dropped",
            if dropped == 0 {
                "none".to_owned()
            } else {
                units::count(dropped)
            },
        ),
        Fact::new(
            "Hardware counters",
            if analysis.counts.cycles.is_some() {
                "cycles and instructions counted"
            } else {
                "not available"
            },
        ),
        Fact::new("How it ended", words::outcome(analysis.program.outcome)),
    ]
}
