//! What follows from the numbers. Chance explains none of it, and few counts give none.

mod amounts;
mod sentences;
mod shapes;
mod tasks;

use crate::facts::{Analysis, Fact, Finding, Profile};
use crate::settings::Settings;
use crate::shape::COUNTS_MIN;
use fathomp_paging::{Counter, StateSet};
use std::mem::{Discriminant, discriminant};

/// Part of a counter's counts that a choice of states holds at least to be worth a word.
const WORTH_SAYING: f64 = 0.1;

/// All findings, the most important first.
pub(crate) fn find(analysis: &Analysis, settings: &Settings) -> Vec<Finding> {
    let mut facts: Vec<(Fact, String)> = Vec::new();
    let mut say = |fact: Fact, evidence: String| facts.push((fact, evidence));
    for facts in &analysis.counters {
        if !is_said(facts.counter, settings) {
            continue;
        }
        let mut said: Vec<Discriminant<Fact>> = Vec::new();
        for profile in &facts.profiles {
            // What wider states show needs no saying for narrower ones; periods are compared
            // with each other.
            let known = said.clone();
            let mut say = |fact: Fact, evidence: String| {
                let kind = discriminant(&fact);
                if matches!(fact, Fact::Periodic { .. }) || !known.contains(&kind) {
                    said.push(kind);
                    say(fact, evidence);
                }
            };
            let about = About {
                analysis,
                counter: facts.counter,
                profile,
                all: facts
                    .profiles
                    .first()
                    .filter(|all| all.states != profile.states),
                share: profile.total as f64 / facts.total.max(1) as f64,
            };
            shapes::find(&about, settings, &mut say);
            tasks::find(&about, &mut say);
        }
        amounts::of_counter(analysis, facts, &mut say);
    }
    amounts::of_states(analysis, &mut say);
    amounts::of_loads(analysis, &mut say);
    let mut findings: Vec<(u32, Finding)> = facts
        .into_iter()
        .map(|(fact, evidence)| {
            let finding = Finding {
                sentence: sentences::sentence(&fact, analysis),
                fact,
                evidence,
            };
            (weight(&finding.fact), finding)
        })
        .collect();
    findings.sort_by_key(|(weight, _)| *weight);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// A profile that is looked at.
struct About<'a> {
    analysis: &'a Analysis,
    counter: Counter,
    profile: &'a Profile,
    /// The profile in all states, if this is another.
    all: Option<&'a Profile>,
    /// Part of the counter's counts.
    share: f64,
}

impl About<'_> {
    fn states(&self) -> StateSet {
        self.profile.states
    }

    /// Whether it holds enough to be spoken of beside all states.
    fn is_worth_saying(&self) -> bool {
        self.all.is_none() || (self.share >= WORTH_SAYING && self.profile.total >= COUNTS_MIN)
    }
}

/// Counters of paging are spoken of in any case; others, such as bytes and switches, if
/// they were asked for.
fn is_said(counter: Counter, settings: &Settings) -> bool {
    let is_asked = |chosen: &Vec<crate::Selection>| chosen.iter().any(|one| one.counter == counter);
    match &settings.selections {
        Some(chosen) => is_asked(chosen),
        None => importance(counter) < OTHERS,
    }
}

/// Importance of counters that are not of paging.
const OTHERS: u32 = 50;

/// The smaller, the more a program waits for it.
const fn importance(counter: Counter) -> u32 {
    match counter {
        Counter::SystemSwapIns | Counter::ProcessSwapIns => 0,
        Counter::MajorFaults => 1,
        Counter::PageIns => 2,
        Counter::DsmFetchFaults => 3,
        Counter::MinorFaults => 4,
        Counter::DsmWriteFaults => 5,
        Counter::CopiesOnWrite => 6,
        Counter::SystemSwapOuts | Counter::ProcessSwapOuts => 7,
        _ => OTHERS,
    }
}

/// Kinds of statements in the order of their use to the reader, counters within a kind.
fn weight(fact: &Fact) -> u32 {
    let (kind, counter) = match fact {
        Fact::Early { counter, .. } => (0, *counter),
        Fact::Periodic { counter, .. } => (1, *counter),
        Fact::Flat { counter, .. } => (2, *counter),
        Fact::ActivityDominates { counter, .. } => (3, *counter),
        Fact::Suspended { .. } => (4, Counter::VoluntarySwitches),
        Fact::Synchronised { counter, .. } => (5, *counter),
        Fact::PeaksBesideEachOther { counter, .. } => (6, *counter),
        Fact::TaskAmount { counter, .. } => (7, *counter),
        Fact::TaskUnlike { counter, .. } => (8, *counter),
        Fact::TasksAlike { counter, .. } => (9, *counter),
        Fact::PeakLoad { load } => (10, load.counter),
        Fact::TimesUnknown { counter, .. } => (11, *counter),
        Fact::TooFew { counter, .. } => (12, *counter),
        Fact::ManyPeaks { counter, .. } => (13, *counter),
        Fact::PublishedSumMisses { counter, .. } => (14, *counter),
    };
    kind * 100 + importance(counter)
}
