//! From bins to the whole analysis.

use crate::bins::{Bins, usual_states};
use crate::correlate::{self, Rows};
use crate::facts::{
    Analysis, CounterFacts, Period, PhaseProfile, Problem, ProblemKind, Profile, SCHEMA, Shape,
    TaskSkyline, VERSION,
};
use crate::findings;
use crate::peaks;
use crate::period::{self, Cache};
use crate::published::published;
use crate::resources;
use crate::settings::{Selection, Settings};
use crate::shape;
use crate::words;
use fathomp_paging::{Counter, StateSet};
use rayon::prelude::*;

/// Analyses what was read.
#[must_use]
pub fn analyse(bins: &Bins, settings: &Settings) -> Analysis {
    let mut problems = bins.problems.clone();
    let selections = selections(bins, settings);
    let correlated = affordable(bins, &selections, settings, &mut problems);
    let mut counters: Vec<CounterFacts> = Vec::new();
    for (place, selection) in selections.iter().enumerate() {
        let profile = profile(bins, *selection, correlated[place], settings);
        match counters.last_mut() {
            Some(last) if last.counter == selection.counter => last.profiles.push(profile),
            _ => counters.push(counter(bins, selection.counter, profile, &mut problems)),
        }
    }
    if counters.iter().all(|counter| counter.total == 0) && !bins.tasks.is_empty() {
        problems.push(Problem {
            kind: ProblemKind::Nothing,
            sentence: "Nothing of what was selected was counted in this part of the recording."
                .to_owned(),
        });
    }
    let mut analysis = Analysis {
        schema: SCHEMA,
        version: VERSION,
        origin_ns: bins.origin,
        window: bins.window,
        tasks: bins.tasks.clone(),
        phases: bins.phases.clone(),
        counters,
        servers: resources::servers(bins, settings),
        loads: resources::loads(bins),
        findings: Vec::new(),
        problems,
    };
    analysis.findings = findings::find(&analysis, settings);
    analysis
}

/// What is looked at, by counter, all states first.
fn selections(bins: &Bins, settings: &Settings) -> Vec<Selection> {
    if let Some(chosen) = &settings.selections {
        let mut chosen = chosen.clone();
        let size = |states: StateSet| std::cmp::Reverse(states.iter().count());
        chosen.sort_by_key(|selection| (selection.counter, size(selection.states)));
        chosen.dedup();
        return chosen;
    }
    let of = |counter| {
        let states = usual_states(&bins.by_state(counter).0);
        states
            .into_iter()
            .map(move |states| Selection { counter, states })
    };
    Counter::ALL.into_iter().flat_map(of).collect()
}

/// Which selections are correlated: those in all states come first, then the others, as
/// long as the pairs are not too many.
fn affordable(
    bins: &Bins,
    selections: &[Selection],
    settings: &Settings,
    problems: &mut Vec<Problem>,
) -> Vec<bool> {
    let mut left = settings.pairs_max;
    let mut chosen = vec![false; selections.len()];
    let mut left_out = 0;
    for all in [true, false] {
        for (place, selection) in selections.iter().enumerate() {
            if (selection.states == StateSet::ALL) != all {
                continue;
            }
            let tasks = bins.threads_that_count(*selection).len();
            let pairs = tasks * tasks.saturating_sub(1) / 2;
            if pairs == 0 {
                continue;
            }
            // What was asked for by name is compared in any case.
            let is_asked = settings.selections.is_some();
            if pairs <= left || is_asked {
                left = left.saturating_sub(pairs);
                chosen[place] = true;
            } else {
                left_out += 1;
            }
        }
    }
    if left_out > 0 {
        problems.push(Problem {
            kind: ProblemKind::CorrelationLeftOut,
            sentence: format!(
                "There are so many tasks that they were not compared by {left_out} of the \
                 counters and states; choose these to have them compared."
            ),
        });
    }
    chosen
}

fn counter(
    bins: &Bins,
    counter: Counter,
    profile: Profile,
    problems: &mut Vec<Problem>,
) -> CounterFacts {
    let (by_state, intervals, saturated) = bins.by_state(counter);
    if saturated {
        problems.push(Problem {
            kind: ProblemKind::Saturated,
            sentence: format!(
                "The number of {} is too large for 64 bits and stands at the largest number; \
                 the recording is most likely damaged.",
                words::noun(counter)
            ),
        });
    }
    CounterFacts {
        counter,
        total: by_state
            .iter()
            .fold(0, |sum: u64, count| sum.saturating_add(*count)),
        by_state,
        intervals,
        saturated,
        profiles: vec![profile],
    }
}

fn profile(bins: &Bins, selection: Selection, is_correlated: bool, settings: &Settings) -> Profile {
    let window = &bins.window;
    let counts = bins.of_all(selection);
    let (intervals, vague_share) = bins.knowledge(selection);
    let shape = shape::shape(&counts, vague_share, window);
    let has_times = !matches!(shape, Shape::TooFew | Shape::Unknown);
    let settled = settled(bins, &shape);
    let bin_ns = window.bin_ns as f64;
    let with_periods = has_times && is_correlated;
    let tasks: Vec<usize> = (0..bins.tasks.len())
        .filter(|task| bins.total(*task, selection) > 0)
        .collect();
    let skylines: Vec<(usize, TaskSkyline)> = tasks
        .par_iter()
        .map_init(Cache::default, |lags, &task| {
            let counts = bins.of_task(task, selection);
            let skyline = peaks::skyline(&counts, bins.life(task), window, settings);
            let period = match with_periods && skyline.total >= shape::COUNTS_MIN {
                true => period::find(&counts, settled, bin_ns, lags),
                false => None,
            };
            let task_skyline = TaskSkyline {
                task: bins.tasks[task].id,
                skyline,
                period,
            };
            (task, task_skyline)
        })
        .collect();
    let mut lags = Cache::default();
    let period = has_times
        .then(|| period::find(&counts, settled, bin_ns, &mut lags))
        .flatten();
    let rows = (has_times && is_correlated).then(|| Rows::of_bins(bins, selection, settings));
    let correlation = rows
        .as_ref()
        .and_then(|rows| correlate::correlate(rows, bin_ns, settings));
    let synchronisation = rows
        .as_ref()
        .and_then(|rows| correlate::synchronisation(rows, window, bins.phases.as_ref(), settings));
    drop(rows);
    let correlation_in_phases = (has_times && is_correlated && bins.phases.is_some())
        .then(|| Rows::of_phases(bins, selection, settings))
        .and_then(|rows| correlate::correlate(&rows, 1.0, settings));
    let of_published: Vec<_> = skylines
        .iter()
        .map(|(task, skyline)| (*task, &skyline.skyline))
        .collect();
    Profile {
        states: selection.states,
        title: words::states(selection.states),
        total: counts
            .iter()
            .fold(0, |sum: u64, count| sum.saturating_add(*count)),
        skyline: peaks::skyline(&counts, (0, window.bins), window, settings),
        intervals,
        vague_share,
        shape,
        period,
        phases: in_phases(bins, selection, settled, has_times, &mut lags),
        published: published(bins, selection, &of_published, &counts, settings),
        bins: counts,
        tasks: skylines.into_iter().map(|(_, skyline)| skyline).collect(),
        correlation,
        correlation_in_phases,
        synchronisation,
    }
}

/// The bin in which a burst at the start has ended.
fn settled(bins: &Bins, shape: &Shape) -> usize {
    match shape {
        Shape::Early { by_ns, .. } => {
            (by_ns.saturating_sub(bins.window.from_ns) / bins.window.bin_ns) as usize
        }
        _ => 0,
    }
}

fn in_phases(
    bins: &Bins,
    selection: Selection,
    settled: usize,
    has_times: bool,
    lags: &mut Cache,
) -> Option<PhaseProfile> {
    let phases = bins.phases.as_ref()?;
    let counts = bins.of_all_in_phases(selection);
    let from = bins.window.bin_begin_ns(settled);
    let first = match settled {
        0 => 0,
        _ => phases.ends_ns.partition_point(|end| *end <= from) + 1,
    };
    let mean_ns = bins.window.ns() as f64 / phases.count().max(1) as f64;
    let period = has_times
        .then(|| period::find(&counts, first, mean_ns, lags))
        .flatten()
        .map(|period| in_wall_time(period, &phases.ends_ns, bins.window.from_ns));
    Some(PhaseProfile { counts, period })
}

/// A period of phases with its length in wall time: by the phases in which it was found.
fn in_wall_time(period: Period, ends_ns: &[u64], from_ns: u64) -> Period {
    // The last phase is what follows the last barrier, of any length.
    let Some(last) = ends_ns.len().checked_sub(2) else {
        return period;
    };
    let begin = match period.from_step.checked_sub(1) {
        Some(before) => ends_ns[before.min(last)],
        None => from_ns,
    };
    let phases = (last + 1).saturating_sub(period.from_step).max(1) as f64;
    let ns = ends_ns[last].saturating_sub(begin) as f64;
    Period {
        ns: period.steps * ns / phases,
        ..period
    }
}
