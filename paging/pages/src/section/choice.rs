//! Which counters and tasks are shown, where there are too many.

use super::words;
use crate::facts::PagingFacts;
use fathomp_paging::{Counter, StateSet, TaskId};
use fathomp_skyline::{CounterFacts, Fact, Profile, Shape, TaskFacts};
use std::collections::{BTreeMap, BTreeSet};

/// A task that lives for less than this part of the window has no line,
const LIFE_MIN: f64 = 0.005;
/// unless it counts more than this part of a counter of paging.
const COUNTS_MIN: f64 = 0.01;

/// A counter that is shown, in some states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<'a> {
    pub(crate) facts: &'a CounterFacts,
    pub(crate) profile: &'a Profile,
}

/// Counters that any of these tasks has, those that say most of paging first.
pub(crate) fn counted(tasks: &[TaskFacts]) -> Vec<Counter> {
    let has = |counter: &Counter| tasks.iter().any(|task| task.totals.contains_key(counter));
    words::BY_WEIGHT.into_iter().filter(has).collect()
}

/// Counters of which there is a picture, those that say most of paging first: in all of
/// `states` if that was analysed. The second list has those with too few counts, or of
/// which is not known when they came: a picture would be made up.
pub(crate) fn counters(
    paging: &PagingFacts,
    states: Option<StateSet>,
) -> (Vec<Chosen<'_>>, Vec<&CounterFacts>) {
    let mut all: Vec<&CounterFacts> = paging.analysis.counters.iter().collect();
    let weight = |one: &CounterFacts| words::BY_WEIGHT.iter().position(|of| *of == one.counter);
    all.sort_by_key(|one| weight(one));
    let mut chosen = Vec::new();
    let mut few = Vec::new();
    for facts in all {
        let asked = states.and_then(|set| facts.profiles.iter().find(|one| one.states == set));
        let Some(profile) = asked.or(facts.profiles.first()) else {
            continue;
        };
        if matches!(profile.shape, Shape::TooFew | Shape::Unknown) {
            few.push(facts);
        } else {
            chosen.push(Chosen { facts, profile });
        }
    }
    (chosen, few)
}

/// Counters that say something of paging, or of which something was found; two at least,
/// if there are so many. Then the others.
pub(crate) fn those_that_matter<'a>(
    paging: &PagingFacts,
    chosen: Vec<Chosen<'a>>,
) -> (Vec<Chosen<'a>>, Vec<Chosen<'a>>) {
    let found: BTreeSet<Counter> = paging
        .analysis
        .findings
        .iter()
        .filter_map(|finding| found_of(&finding.fact))
        .collect();
    let matters = |one: &Chosen<'_>| {
        let counter = one.facts.counter;
        words::is_of_paging(counter) || found.contains(&counter)
    };
    let (mut matter, mut others): (Vec<_>, Vec<_>) = chosen.into_iter().partition(matters);
    let room = 2_usize.saturating_sub(matter.len());
    matter.extend(others.drain(..others.len().min(room)));
    (matter, others)
}

/// The counter that something was found of.
fn found_of(fact: &Fact) -> Option<Counter> {
    match fact {
        Fact::Early { counter, .. }
        | Fact::Flat { counter, .. }
        | Fact::Periodic { counter, .. }
        | Fact::PeaksBesideEachOther { counter, .. }
        | Fact::ActivityDominates { counter, .. }
        | Fact::TasksAlike { counter, .. }
        | Fact::TaskUnlike { counter, .. }
        | Fact::TaskAmount { counter, .. }
        | Fact::Synchronised { counter, .. } => Some(*counter),
        Fact::Suspended { .. }
        | Fact::PeakLoad { .. }
        | Fact::TooFew { .. }
        | Fact::TimesUnknown { .. }
        | Fact::ManyPeaks { .. }
        | Fact::PublishedSumMisses { .. } => None,
    }
}

/// Whether anything is known of a task in the window. Of some processes only samples are
/// known that tell of nothing.
pub(crate) fn is_alive(task: &TaskFacts) -> bool {
    task.bins > 0 && (task.recorded_ns() > 0 || !task.totals.is_empty())
}

/// Tasks that live for a while, or count a part of anything; all if none does.
fn weighty(paging: &PagingFacts) -> Vec<usize> {
    let analysis = &paging.analysis;
    let least_ns = (analysis.window.ns() as f64 * LIFE_MIN) as u64;
    let totals: BTreeMap<Counter, u64> = analysis
        .counters
        .iter()
        .filter(|facts| words::is_of_paging(facts.counter))
        .map(|facts| (facts.counter, facts.total))
        .collect();
    let counts = |task: &TaskFacts| {
        task.totals.iter().any(|(counter, count)| {
            let total = totals.get(counter);
            total.is_some_and(|total| *count as f64 >= *total as f64 * COUNTS_MIN)
        })
    };
    let places = |is_in: &dyn Fn(&TaskFacts) -> bool| -> Vec<usize> {
        (0..analysis.tasks.len())
            .filter(|place| is_alive(&analysis.tasks[*place]) && is_in(&analysis.tasks[*place]))
            .collect()
    };
    let kept = places(&|task| task.recorded_ns() >= least_ns || counts(task));
    if kept.is_empty() {
        return places(&|_| true);
    }
    kept
}

/// Number of tasks of which anything is known.
pub(crate) fn alive(paging: &PagingFacts) -> usize {
    let tasks = paging.analysis.tasks.iter();
    tasks.filter(|task| is_alive(task)).count()
}

/// At most `most` tasks that stand for all, by their places: of each group of tasks that
/// are alike one, the one that is unlike the others, and others evenly.
#[must_use]
pub fn tasks(paging: &PagingFacts, most: usize) -> Vec<usize> {
    let lived = weighty(paging);
    if lived.len() <= most {
        return lived;
    }
    let (counters, _) = counters(paging, None);
    let correlations = counters.iter().flat_map(|one| {
        let both = [
            one.profile.correlation_in_phases.as_ref(),
            one.profile.correlation.as_ref(),
        ];
        both.into_iter().flatten()
    });
    let mut kept = BTreeSet::new();
    for correlation in correlations {
        let unlike = correlation.unlike.map(|unlike| unlike.task);
        let first = |cluster: &fathomp_skyline::Cluster| cluster.tasks.first().copied();
        let firsts = correlation.clusters.iter().filter_map(first);
        let places = unlike.into_iter().chain(firsts);
        kept.extend(places.filter_map(|task: TaskId| paging.place(task)));
        if kept.len() * 2 >= most {
            break;
        }
    }
    let mut kept: BTreeSet<usize> = kept.into_iter().take(most).collect();
    let others: Vec<usize> = lived
        .into_iter()
        .filter(|place| !kept.contains(place))
        .collect();
    let room = most - kept.len();
    kept.extend((0..room).filter_map(|one| others.get(one * others.len() / room)));
    kept.into_iter().collect()
}
