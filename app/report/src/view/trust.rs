//! How far the numbers can be trusted: what was not seen, and what looking
//! cost.

use super::{Fact, details, source, words};
use crate::{Input, units};
use fathomp_analysis::{Analysis, Severity};
use fathomp_predict::Prediction;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};

/// The section.
#[derive(Debug, Serialize)]
pub(crate) struct Trust {
    /// What may spoil the numbers.
    doubts: Vec<String>,
    /// What is good to know.
    remarks: Vec<String>,
    facts: Vec<Fact>,
}

/// More sentences than anybody reads.
const SENTENCES_MAX: usize = 60;
/// Predicted over measured time, or the reverse, from which on a prediction is
/// of no use.
const MISS: f64 = 1.5;
/// A sentence has at most this many characters; it may quote a name.
const SENTENCE_CHARS: usize = 1000;

pub(crate) fn build(input: &Input<'_>) -> Trust {
    let (notes, doubts): (Vec<SharedProblem>, Vec<SharedProblem>) = said(input)
        .into_iter()
        .partition(|one| one.severity == Severity::Note);
    let sentences = |list: Vec<SharedProblem>| -> Vec<String> {
        list.iter()
            .map(|one| one.sentence(input.measured().count()))
            .collect()
    };
    let mut doubts = sentences(doubts);
    let mut remarks = sentences(notes);
    if let Some(prediction) = input.prediction {
        for warning in &prediction.warnings {
            if !doubts.contains(warning) && !remarks.contains(warning) {
                doubts.push(words::shorten(warning, SENTENCE_CHARS));
            }
        }
    }
    doubts.extend(input.prediction.and_then(worst_miss));
    let notes = input.notes.iter();
    doubts.extend(notes.map(|note| words::shorten(note, SENTENCE_CHARS)));
    if let Some(main) = input.main() {
        let shown = details::chosen(main).into_iter();
        remarks.extend(source::missing(
            input,
            shown.map(|index| &main.regions[index]),
        ));
    }
    let mut facts_brought = Vec::new();
    for section in input.sections {
        let (more, facts) = section.trust();
        doubts.extend(more);
        facts_brought.extend(facts);
    }
    for list in [&mut doubts, &mut remarks] {
        cut(list);
    }
    let mut facts = input
        .main()
        .map(|analysis| recording_facts(input, analysis))
        .unwrap_or_default();
    if let Some(validation) = input.prediction.and_then(|one| one.validation.as_ref()) {
        facts.push(Fact::new(
            "Prediction checked",
            format!(
                "{} with {} predicted from fewer, measured {}: {}, {} the interval",
                units::duration(validation.predicted_ns),
                units::plural(validation.threads.into(), "thread"),
                units::duration(validation.measured_ns),
                error_in_words(validation.relative_error),
                if validation.inside {
                    "inside"
                } else {
                    "outside"
                }
            ),
        ));
    }
    facts.extend(facts_brought);
    Trust {
        doubts,
        remarks,
        facts,
    }
}

/// `off by 2.1 %`, or a factor where percentages mislead.
fn error_in_words(relative: f64) -> String {
    if relative > 1.0 {
        format!("{} times as much", units::ratio(relative + 1.0))
    } else {
        format!("off by {}", units::percent(relative.abs()))
    }
}

/// Where the model misses a measured time by most, if by much.
fn worst_miss(prediction: &Prediction) -> Option<String> {
    let (point, measured_ns, factor) = prediction
        .points
        .iter()
        .filter_map(|point| {
            let measured_ns = point.undisturbed_ns.filter(|ns| *ns > 0.0)?;
            let factor = (point.time_ns / measured_ns).max(measured_ns / point.time_ns);
            factor.is_finite().then_some((point, measured_ns, factor))
        })
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    (factor > MISS).then(|| {
        format!(
            "The model does not fit this program: with {} it says {} where {} was measured. Do not rely on its other numbers.",
            units::plural(point.threads.into(), "thread"),
            units::duration(point.time_ns),
            units::duration(measured_ns)
        )
    })
}

fn cut(list: &mut Vec<String>) {
    if list.len() > SENTENCES_MAX {
        let more = list.len() - SENTENCES_MAX;
        list.truncate(SENTENCES_MAX);
        list.push(format!("And {more} more; the JSON export has all."));
    }
}

/// A problem and the recordings that have it.
struct SharedProblem {
    severity: Severity,
    text: String,
    recordings: BTreeSet<usize>,
}

impl SharedProblem {
    fn sentence(&self, all: usize) -> String {
        let text = words::shorten(&self.text, SENTENCE_CHARS);
        if all > 1 && self.recordings.len() < all {
            format!("{text} (In {} of {all} recordings.)", self.recordings.len())
        } else {
            text
        }
    }
}

/// All problems, worst first. What several recordings say, be it with other
/// numbers, is said once, in the words of the first.
fn said(input: &Input<'_>) -> Vec<SharedProblem> {
    let mut all: Vec<SharedProblem> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (recording, analysis) in input.measured().enumerate() {
        for problem in &analysis.problems {
            let like = without_numbers(&problem.sentence);
            match known.get(&like).map(|index| &mut all[*index]) {
                // Within a recording, other numbers are another problem.
                Some(one) if !one.recordings.contains(&recording) => {
                    one.recordings.insert(recording);
                }
                _ => {
                    known.insert(like, all.len());
                    all.push(SharedProblem {
                        severity: problem.severity,
                        text: problem.sentence.clone(),
                        recordings: BTreeSet::from([recording]),
                    });
                }
            }
        }
    }
    all.sort_by_key(|one| one.severity);
    all
}

fn without_numbers(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_ascii_digit())
        .collect()
}

fn recording_facts(input: &Input<'_>, analysis: &Analysis) -> Vec<Fact> {
    let intrusion = &analysis.intrusion;
    let dropped: u64 = input
        .measured()
        .flat_map(|one| &one.threads_seen)
        .map(|thread| thread.dropped)
        .fold(0, u64::saturating_add);
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
