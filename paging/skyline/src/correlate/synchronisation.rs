//! When most tasks are in a peak at once.

use super::Rows;
use crate::facts::{NearBarrier, Phases, SyncPoint, Synchronisation, Window};
use crate::settings::Settings;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Part of the tasks that have to be in a peak.
const SHARE_MIN: f64 = 0.8;
/// Probability by which so many are there by chance, at most.
const CHANCE: f64 = 0.01;

/// The points at which at least 0.8 of the tasks are in a peak and that is improbable:
/// with the mean part of steps that lie in peaks, p below 0.01 (binomial). As there are
/// thousands of steps, what random shifts of the tasks give stands beside the number.
pub(crate) fn synchronisation(
    rows: &Rows,
    window: &Window,
    phases: Option<&Phases>,
    settings: &Settings,
) -> Option<Synchronisation> {
    let tasks = rows.len();
    if tasks < 2 {
        return None;
    }
    let in_peaks: usize = rows.runs.iter().flatten().map(|run| run.bins).sum();
    let share = in_peaks as f64 / (tasks * rows.steps) as f64;
    let binomial = Binomial::new(share.clamp(0.0, 1.0), tasks as u64).ok()?;
    // Probability that so many or more are there.
    let p = |number: usize| match number {
        0 => 1.0,
        number => binomial.sf(number as u64 - 1),
    };
    let most = (SHARE_MIN * tasks as f64).ceil() as usize;
    let least = (most.max(1)..=tasks).find(|number| p(*number) < CHANCE);
    let Some(least) = least else {
        return Some(Synchronisation {
            tasks: tasks as u64,
            points: Vec::new(),
            points_by_chance: 0.0,
            p: 1.0,
        });
    };
    let points: Vec<SyncPoint> = stretches(&together(rows, &vec![0; tasks]), least)
        .map(|(from, to, most)| {
            let begin = window.bin_begin_ns(rows.first + from);
            let end = window.bin_begin_ns(rows.first + to);
            SyncPoint {
                from_ns: begin,
                to_ns: end,
                tasks: most as u64,
                p: p(most),
                barrier: phases.and_then(|phases| near(phases, begin, end, window.bin_ns)),
            }
        })
        .collect();
    let mut random = StdRng::seed_from_u64(settings.seed);
    let lags: Vec<Vec<usize>> = (0..settings.shifts.clamp(1, 10_000))
        .map(|_| {
            let lag = |_| random.random_range(0..rows.steps.max(1));
            (0..tasks).map(lag).collect()
        })
        .collect();
    let by_chance: Vec<usize> = lags
        .par_iter()
        .map(|lags| stretches(&together(rows, lags), least).count())
        .collect();
    let reached = by_chance
        .iter()
        .filter(|number| **number >= points.len())
        .count();
    Some(Synchronisation {
        tasks: tasks as u64,
        points_by_chance: by_chance.iter().sum::<usize>() as f64 / by_chance.len() as f64,
        p: (reached + 1) as f64 / (by_chance.len() + 1) as f64,
        points,
    })
}

/// Number of tasks in a peak, per step, with each task later by its lag on a circle.
fn together(rows: &Rows, lags: &[usize]) -> Vec<usize> {
    let steps = rows.steps;
    // Where tasks enter and leave peaks.
    let mut changes = vec![0_i64; steps + 1];
    for (runs, lag) in rows.runs.iter().zip(lags) {
        for run in runs {
            let (from, to) = (run.first + lag, run.end() + lag);
            if from >= steps {
                changes[from - steps] += 1;
                changes[to - steps] -= 1;
            } else if to > steps {
                changes[from] += 1;
                changes[steps] -= 1;
                changes[0] += 1;
                changes[to - steps] -= 1;
            } else {
                changes[from] += 1;
                changes[to] -= 1;
            }
        }
    }
    let mut number = 0;
    changes[..steps]
        .iter()
        .map(|change| {
            number += change;
            usize::try_from(number).unwrap_or(0)
        })
        .collect()
}

/// Stretches with at least so many tasks: begin, end, and the most there are.
fn stretches(together: &[usize], least: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at
            + together
                .get(at..)?
                .iter()
                .position(|number| *number >= least)?;
        let length = together[from..]
            .iter()
            .take_while(|number| **number >= least)
            .count();
        at = from + length;
        let most = together[from..at].iter().copied().max().unwrap_or(0);
        Some((from, at, most))
    })
}

/// The barrier nearest to a stretch, if it was passed within it or a bin beside it.
fn near(phases: &Phases, from: u64, to: u64, bin_ns: u64) -> Option<NearBarrier> {
    let (from, to) = (from.saturating_sub(bin_ns), to.saturating_add(bin_ns));
    let place = phases.ends_ns.partition_point(|end| *end < from);
    let at = *phases.ends_ns.get(place)?;
    // The last phase ends with the window, at no barrier.
    let name = phases.barriers.get(place)?;
    (at < to).then(|| NearBarrier {
        name: name.clone(),
        at_ns: at,
    })
}
