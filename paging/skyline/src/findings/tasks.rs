//! Tasks compared.

use super::About;
use super::shapes::SAME;
use crate::facts::{Axis, Correlation, Fact, Measure, Shape, Synchronisation};
use crate::words;
use fathomp_types::text;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Part of the random shifts that may reach what is found: none of a hundred.
const P_MAX: f64 = 0.01;
/// Similarity beyond chance that is worth a word.
const BEYOND_CHANCE: f64 = 0.1;
/// Part of the tasks that have a common period.
const COMMON: f64 = 0.8;
/// Correlation at the best lag that is worth a word, and its least gain by the lag.
const AT_LAG_MIN: f64 = 0.4;
const GAIN_MIN: f64 = 0.2;

pub(super) fn find(about: &About<'_>, say: &mut impl FnMut(Fact, String)) {
    let is_said_of_all = about.all.is_some_and(|all| {
        let both = [&all.correlation, &all.correlation_in_phases];
        both.into_iter().flatten().any(is_telling)
    });
    // That all burst at the start says nothing more of how alike they are.
    if !about.is_worth_saying() || matches!(about.profile.shape, Shape::Early { .. }) {
        return;
    }
    if !is_said_of_all {
        alike(about, say);
    }
    beside(about, say);
    let said = about.all.and_then(|all| all.synchronisation.as_ref());
    if let Some(found) = &about.profile.synchronisation
        && is_synchronised(found)
        && !said.is_some_and(is_synchronised)
    {
        synchronised(about, found, say);
    }
}

fn is_telling(correlation: &Correlation) -> bool {
    let found = &correlation.significance;
    found.p < P_MAX && found.mean - found.mean_by_chance >= BEYOND_CHANCE
}

/// Tasks that are alike, by the axis on which they are more so, and the one that is not.
fn alike(about: &About<'_>, say: &mut impl FnMut(Fact, String)) {
    let profile = about.profile;
    let beyond = |correlation: &&Correlation| {
        correlation.significance.mean - correlation.significance.mean_by_chance
    };
    let telling = [&profile.correlation, &profile.correlation_in_phases]
        .into_iter()
        .flatten()
        .filter(|correlation| is_telling(correlation));
    let Some(found) = telling.max_by(|a, b| beyond(a).total_cmp(&beyond(b))) else {
        return;
    };
    let measure = match found.measure {
        Measure::Times => "SPIKE synchronisation of peaks",
        Measure::Signals => match found.axis {
            Axis::Wall => "Pearson's correlation of counts",
            Axis::Phases => "correlation of counts beyond what the phases' lengths explain",
        },
    };
    let per = match found.axis {
        Axis::Wall => "per bin",
        Axis::Phases => "per phase",
    };
    let evidence = text::sentence(&format!(
        "{measure}, {per}; mean of all pairs {}, of tasks shifted at random {}, p {}.",
        words::correlation(found.significance.mean),
        words::correlation(found.significance.mean_by_chance),
        words::correlation(found.significance.p)
    ));
    say(
        Fact::TasksAlike {
            counter: about.counter,
            states: about.states(),
            axis: found.axis,
            measure: found.measure,
            mean: found.significance.mean,
            by_chance: found.significance.mean_by_chance,
            groups: found.clusters.len() as u64,
            largest: found
                .clusters
                .first()
                .map_or(0, |cluster| cluster.tasks.len() as u64),
            of: found.tasks.len() as u64,
        },
        evidence.clone(),
    );
    if let Some(unlike) = found.unlike {
        say(
            Fact::TaskUnlike {
                counter: about.counter,
                states: about.states(),
                task: unlike.task,
                similarity: unlike.similarity,
                others: unlike.others,
            },
            format!("{evidence} Grubbs's test for one outlier, p below 0.01."),
        );
    }
}

/// A common period with peaks beside each other.
fn beside(about: &About<'_>, say: &mut impl FnMut(Fact, String)) {
    let profile = about.profile;
    let Some(correlation) = &profile.correlation else {
        return;
    };
    let mut periods: Vec<f64> = profile
        .tasks
        .iter()
        .filter_map(|task| task.period.map(|period| period.ns))
        .collect();
    let Some(common) = median(&mut periods) else {
        return;
    };
    let tasks = periods
        .iter()
        .filter(|ns| (*ns / common - 1.0).abs() < SAME)
        .count();
    if tasks < 2 || (tasks as f64) < COMMON * profile.tasks.len() as f64 {
        return;
    }
    // A lag of whole periods is none.
    let lag = |lag: &f32| {
        let within = f64::from(lag.abs()) % common;
        within.min(common - within)
    };
    let lag_ns = median(
        &mut correlation
            .best_lag
            .values()
            .iter()
            .map(lag)
            .collect::<Vec<_>>(),
    );
    let of = |values: &[f32]| {
        median(
            &mut values
                .iter()
                .map(|value| f64::from(*value))
                .collect::<Vec<_>>(),
        )
    };
    let (Some(lag_ns), Some(at_lag), Some(at_once)) = (
        lag_ns,
        of(correlation.signals_at_best_lag.values()),
        of(correlation.signals.values()),
    ) else {
        return;
    };
    let bin_ns = about.analysis.window.bin_ns as f64;
    if lag_ns < bin_ns || at_lag < AT_LAG_MIN || at_lag - at_once < GAIN_MIN {
        return;
    }
    // A state is worth a word where it shows what all do not.
    if about.all.is_some_and(|all| {
        all.period.is_some() && all.tasks.iter().any(|task| task.period.is_some())
    }) {
        return;
    }
    say(
        Fact::PeaksBesideEachOther {
            counter: about.counter,
            states: about.states(),
            period_ns: common,
            tasks: tasks as u64,
            lag_ns,
            at_lag,
            at_once,
        },
        "Medians over all pairs of tasks; Pearson's correlation of counts per bin.".to_owned(),
    );
}

fn is_synchronised(found: &Synchronisation) -> bool {
    found.p < P_MAX && found.points.len() as f64 >= 3.0 * found.points_by_chance + 3.0
}

fn synchronised(about: &About<'_>, found: &Synchronisation, say: &mut impl FnMut(Fact, String)) {
    let at_barriers = found
        .points
        .iter()
        .filter(|point| point.barrier.is_some())
        .count() as u64;
    let is_by_chance = barriers_by_chance(about, found, at_barriers) > P_MAX;
    let mut names: Vec<&str> = found
        .points
        .iter()
        .filter_map(|point| point.barrier.as_ref().map(|barrier| barrier.name.as_str()))
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    let commonest = names
        .chunk_by(|one, other| one == other)
        .max_by_key(|chunk| chunk.len())
        .filter(|chunk| 2 * chunk.len() as u64 > at_barriers)
        .map(|chunk| chunk[0].to_owned());
    say(
        Fact::Synchronised {
            counter: about.counter,
            states: about.states(),
            points: found.points.len() as u64,
            by_chance: found.points_by_chance,
            at_barriers: if is_by_chance { 0 } else { at_barriers },
            barrier: commonest.filter(|_| !is_by_chance),
        },
        format!(
            "At least 80 % of {} tasks in a peak and binomial p below 0.01; of random shifts, \
             the part of {} gives as many.",
            found.tasks,
            words::correlation(found.p)
        ),
    );
}

/// Probability that so many points lie near a barrier if they fall anywhere.
fn barriers_by_chance(about: &About<'_>, found: &Synchronisation, near: u64) -> f64 {
    let (Some(phases), true) = (&about.analysis.phases, near > 0) else {
        return 1.0;
    };
    let window = &about.analysis.window;
    let lengths = found.points.iter().map(|point| point.to_ns - point.from_ns);
    let mean = lengths.sum::<u64>() / found.points.len().max(1) as u64;
    // What a point has to begin in to be near: its length before and a bin on both sides.
    let reach = mean + 2 * window.bin_ns;
    let mut covered = 0;
    let mut until = window.from_ns;
    for end in &phases.ends_ns[..phases.ends_ns.len().saturating_sub(1)] {
        let from = end.saturating_sub(reach).max(until);
        covered += end.saturating_sub(from);
        until = until.max(*end);
    }
    let share = (covered as f64 / window.ns().max(1) as f64).clamp(0.0, 1.0);
    match Binomial::new(share, found.points.len() as u64) {
        Ok(binomial) => binomial.sf(near - 1),
        Err(_) => 1.0,
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
