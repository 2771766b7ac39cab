//! The summary: what it costs, where the time goes, how far it will scale,
//! what to do. Sentences first, numbers after.

use super::{advice, regions, words};
use crate::{Input, units};
use fathomp_analysis::{Analysis, Region, SiteKind, State};
use fathomp_diagnosis::{Diagnosis, Kind};
use fathomp_predict::Prediction;
use fathomp_types::{Ending, text};
use serde::Serialize;

/// A sentence and what it is about.
#[derive(Debug, Serialize)]
pub(crate) struct Finding {
    pub(super) kind: &'static str,
    pub(super) text: String,
}

/// A number worth seeing first.
#[derive(Debug, Serialize)]
pub(crate) struct Card {
    label: &'static str,
    value: String,
    note: String,
}

/// Sentences about scaling taken from the prediction.
const SCALING_SENTENCES: usize = 5;
/// Name of a region inside a sentence.
pub(crate) const NAME_CHARS: usize = 60;

/// The sentences, most important first.
pub(crate) fn findings(input: &Input<'_>, diagnosis: &Diagnosis) -> Vec<Finding> {
    let (analysis, prediction) = (input.main(), input.prediction);
    let mut findings = Vec::new();
    let mut say = |kind, text: String| {
        if !text.is_empty() {
            findings.push(Finding {
                kind,
                text: words::bound(&text),
            });
        }
    };
    if let Some(analysis) = analysis {
        say("Outcome", ending(analysis));
        say("Cost", cost(analysis));
        say("Time", where_time_goes(analysis));
        say("Loss", largest_loss(input, analysis, diagnosis));
    }
    if let Some(prediction) = prediction {
        let regions = prediction.worst_regions();
        let sentences = prediction.sentences.iter().cloned();
        let sentences = sentences.chain(regions.map(|one| diagnosis.of_prediction(one)));
        for sentence in sentences.take(SCALING_SENTENCES) {
            say("Scaling", text::sentence(&words::shorten(&sentence, 400)));
        }
    }
    let advice = advice::advice(input, diagnosis);
    for piece in advice.pieces {
        say("Advice", piece);
    }
    say("Doubt", advice.doubt);
    for section in input.sections {
        for sentence in section.summary() {
            say(section.title(), sentence);
        }
    }
    findings
}

fn short_name(region: &Region) -> String {
    words::shorten(&regions::name(region), NAME_CHARS)
}

fn parallel(analysis: &Analysis) -> impl Iterator<Item = &Region> {
    analysis
        .regions
        .iter()
        .filter(|region| region.kind != SiteKind::Serial)
}

/// Only an ending that spoils the numbers is worth the first sentence.
fn ending(analysis: &Analysis) -> String {
    match analysis.program.outcome {
        Some(Ending::Exited(0)) => String::new(),
        Some(left @ Ending::Exited(_)) => {
            format!("The program left with {left}; the numbers cover what it did until then.")
        }
        Some(killed @ Ending::Signalled(_)) => {
            format!("The program was ended by {killed}; the numbers cover what it did until then.")
        }
        None => {
            "The recording does not say how the program ended; the numbers cover what was seen."
                .to_owned()
        }
    }
}

fn cost(analysis: &Analysis) -> String {
    let wall = units::duration(analysis.wall_ns as f64);
    if parallel(analysis).next().is_none() {
        return format!(
            "The program took {wall} and ran no parallel region that could be seen: it is serial, or its OpenMP runtime was not observed."
        );
    }
    let total = analysis.states.total_ns().max(1) as f64;
    let share = |ns: u64| units::percent(ns as f64 / total);
    let others: Vec<String> = [
        (State::Ready, "without a processor"),
        (State::Blocked, "blocked"),
        (State::Communication, "communicating with other processes"),
        (State::Io, "in files"),
    ]
    .into_iter()
    .map(|(state, what)| (analysis.states[state], what))
    .filter(|(ns, _)| *ns as f64 >= 0.001 * total)
    .map(|(ns, what)| format!(", {} {what}", share(ns)))
    .collect();
    format!(
        "The program took {wall} with {}. Its threads spent {} of their time computing, {} waiting or idle{} and {} in the runtime.",
        units::plural(analysis.team_size.into(), "thread"),
        share(analysis.states.useful_ns()),
        share(analysis.states.waiting_ns()),
        others.concat(),
        share(analysis.states[State::Overhead])
    )
}

fn where_time_goes(analysis: &Analysis) -> String {
    let mut outermost: Vec<&Region> = parallel(analysis)
        .filter(|region| region.level <= 1)
        .collect();
    outermost.sort_by_key(|region| std::cmp::Reverse(region.wall_ns));
    let Some(first) = outermost.first() else {
        return String::new();
    };
    let mut items: Vec<String> = outermost
        .iter()
        .skip(1)
        .take(2)
        .filter(|region| region.share >= 0.01)
        .map(|region| format!("{} {}", short_name(region), units::percent(region.share)))
        .collect();
    let serial = analysis
        .regions
        .iter()
        .find(|region| region.kind == SiteKind::Serial);
    if let Some(serial) = serial {
        items.push(format!(
            "the serial part between regions {}",
            units::percent(serial.share)
        ));
    }
    let others = if items.is_empty() {
        String::new()
    } else {
        format!("; {}", words::list(&items))
    };
    format!(
        "Most of it passes in region {}: {} of the time in {}{others}.",
        short_name(first),
        units::percent(first.share),
        units::plural(first.instances, "instance")
    )
}

/// The most expensive cause.
fn largest_loss(input: &Input<'_>, analysis: &Analysis, diagnosis: &Diagnosis) -> String {
    if parallel(analysis).next().is_none() {
        return String::new();
    }
    let circumstance = diagnosis.circumstance();
    let machine = circumstance.filter(|cause| cause.kind == Kind::SlowerProcessors);
    let trusted = advice::trusted(input, diagnosis);
    let Some(first) = machine.into_iter().chain(trusted).next() else {
        if diagnosis.of_program().next().is_some() {
            return "The times were disturbed too much to name a cause that rests on them."
                .to_owned();
        }
        return format!(
            "No single cause costs {} of the time.",
            units::percent(fathomp_diagnosis::WORTH_SAYING)
        );
    };
    first.sentence()
}

/// Numbers worth seeing first.
pub(crate) fn cards(analysis: Option<&Analysis>, prediction: Option<&Prediction>) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some(analysis) = analysis {
        cards.push(Card {
            label: "Wall time",
            value: units::duration(analysis.wall_ns as f64),
            note: format!(
                "with {}",
                units::plural(analysis.team_size.into(), "thread")
            ),
        });
        cards.push(Card {
            label: "In parallel regions",
            value: units::percent(analysis.parallel_time_fraction),
            note: format!(
                "{} in the source",
                units::plural(parallel(analysis).count() as u64, "region")
            ),
        });
        cards.push(Card {
            label: "Parallel efficiency",
            value: units::percent(analysis.efficiency.parallel),
            note: format!(
                "load balance {}",
                units::percent(analysis.efficiency.load_balance)
            ),
        });
    }
    if let Some(prediction) = prediction {
        if let Some(most) = prediction.measured.iter().max_by_key(|one| one.threads) {
            cards.push(Card {
                label: "Measured speedup",
                value: units::ratio(most.speedup),
                note: format!("with {}", units::plural(most.threads.into(), "thread")),
            });
        }
        if let Some(last) = prediction.points.last() {
            cards.push(Card {
                label: "Predicted speedup",
                value: units::ratio(last.speedup),
                note: format!(
                    "{} to {}, with {}",
                    units::ratio(last.speedup_low),
                    units::ratio(last.speedup_high),
                    units::plural(last.threads.into(), "thread")
                ),
            });
            cards.push(Card {
                label: "Threads worth using",
                value: units::count(prediction.best_threads.into()),
                note: if prediction.cores > prediction.cores_present {
                    format!(
                        "of {} ({} here); more save little",
                        units::plural(prediction.cores.into(), "processor"),
                        prediction.cores_present
                    )
                } else {
                    format!(
                        "of {}; more save little",
                        units::plural(prediction.cores.into(), "processor")
                    )
                },
            });
        }
    }
    cards
}
