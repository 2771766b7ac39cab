//! How alike tasks are: every pair, groups, and the one unlike the others.

mod chance;
mod clusters;
mod rows;
mod signals;
mod spikes;
mod synchronisation;
mod unlike;

pub(crate) use rows::Rows;
pub(crate) use synchronisation::synchronisation;
pub(crate) use unlike::outlier;

use crate::facts::{Axis, Correlation, Matrix, Measure};
use crate::settings::Settings;
use chance::Chance;
use rayon::prelude::*;
use spikes::{Spikes, Synchrony};

/// C of independent Poisson processes: each peak has a partner with probability 1/4 (the
/// window is half the smallest of four gaps).
const TIMES_OF_POISSON: f64 = 0.25;
/// Peaks per task from which on their times say how alike tasks are; with fewer, counts do.
const PEAKS_FOR_TIMES: usize = 5;

/// Correlates every pair. None if fewer than two tasks are left to compare.
pub(crate) fn correlate(rows: &Rows, step_ns: f64, settings: &Settings) -> Option<Correlation> {
    let tasks = rows.len();
    if tasks < 2 {
        return None;
    }
    let spikes: Vec<Spikes> = rows.runs.par_iter().map(|runs| Spikes::new(runs)).collect();
    let pairs: Vec<(usize, usize)> = Matrix::pairs(tasks).collect();
    let synchrony: Vec<Synchrony> = pairs
        .par_iter()
        .map(|&(one, other)| spikes[one].with(&spikes[other], rows.steps))
        .collect();
    let signals = signals::signals(rows, &pairs);
    let measure = measure(rows, &spikes);
    let chance = Chance::new(rows, &spikes, measure, settings);
    let of_pairs = |of: &dyn Fn(&Synchrony) -> f64| {
        Matrix::new(tasks, synchrony.iter().map(|one| of(one) as f32).collect())
    };
    let by_chance = |of: &(dyn Fn(usize, usize) -> f64 + Sync)| {
        let values = pairs.iter().map(|&(one, other)| of(one, other) as f32);
        Matrix::new(tasks, values.collect())
    };
    let lag_ns = match rows.axis {
        Axis::Wall => step_ns,
        Axis::Phases => 1.0,
    };
    let lags = signals.lags.iter().map(|lag| (*lag as f64 * lag_ns) as f32);
    let mut correlation = Correlation {
        axis: rows.axis,
        tasks: rows.ids.clone(),
        times: of_pairs(&|pair| pair.times),
        times_by_chance: by_chance(&|one, other| chance.times(one, other)),
        times_of_poisson: TIMES_OF_POISSON,
        amplitude: of_pairs(&|pair| pair.amplitude),
        partial: Matrix::new(
            tasks,
            signals.partial.unwrap_or_else(|| signals.at_once.clone()),
        ),
        signals: Matrix::new(tasks, signals.at_once),
        partial_by_chance: by_chance(&|one, other| chance.signals(one, other)),
        signals_at_best_lag: Matrix::new(tasks, signals.at_best),
        best_lag: Matrix::new(tasks, lags.collect()),
        overlap: Matrix::new(tasks, signals.overlap),
        measure,
        significance: chance.significance,
        clusters: Vec::new(),
        unlike: None,
    };
    // What chance explains makes no groups.
    if correlation.significance.is_significant() {
        let bar = correlation.similarity_by_chance().mean();
        let similarity = correlation.similarity();
        let clusters = clusters::clusters(similarity, bar, &rows.ids);
        let unlike = unlike::unlike(similarity, &rows.ids);
        correlation.clusters = clusters;
        correlation.unlike = unlike;
    }
    Some(correlation)
}

fn measure(rows: &Rows, spikes: &[Spikes]) -> Measure {
    if rows.axis == Axis::Phases {
        return Measure::Signals;
    }
    let mut peaks: Vec<usize> = spikes.iter().map(Spikes::len).collect();
    peaks.sort_unstable();
    match peaks.get(peaks.len() / 2) {
        Some(median) if *median >= PEAKS_FOR_TIMES => Measure::Times,
        _ => Measure::Signals,
    }
}

#[cfg(test)]
mod tests;
