//! What chance does: the same tasks, each shifted by a random lag.

use super::spikes::{self, Spikes};
use super::{Measure, Rows};
use crate::facts::{Matrix, Significance};
use crate::fourier;
use crate::settings::Settings;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Tasks that are shifted; of more, evenly spaced ones stand for all.
const TASKS_MAX: usize = 64;
/// The quantile that stands beside values of pairs.
const QUANTILE: f64 = 0.95;

/// What random shifts give.
pub(crate) struct Chance {
    /// Place of each task among the shifted; none if others stand for it.
    places: Vec<Option<usize>>,
    times: Matrix,
    signals: Matrix,
    /// For pairs that were not shifted: by the numbers of their peaks, as powers of two.
    times_by_peaks: BTreeMap<(u32, u32), f64>,
    peaks: Vec<u32>,
    times_of_all: f64,
    signals_of_all: f64,
    pub(crate) significance: Significance,
}

/// What one set of shifts gives.
struct Draw {
    times: Vec<f32>,
    signals: Vec<f32>,
}

impl Chance {
    pub(crate) fn new(
        rows: &Rows,
        spikes: &[Spikes],
        measure: Measure,
        settings: &Settings,
    ) -> Self {
        let chosen = chosen(rows.len());
        let shifts = settings.shifts.clamp(1, 10_000);
        let mut random = StdRng::seed_from_u64(settings.seed);
        let lags: Vec<Vec<usize>> = (0..shifts)
            .map(|_| {
                let lag = |_| random.random_range(0..rows.steps.max(1));
                chosen.iter().map(lag).collect()
            })
            .collect();
        let truth = draw(rows, spikes, &chosen, &vec![0; chosen.len()]);
        let draws: Vec<Draw> = lags
            .par_iter()
            .map(|lags| draw(rows, spikes, &chosen, lags))
            .collect();
        let significance = significance(&truth, &draws, measure);
        let pairs = chosen.len() * chosen.len().saturating_sub(1) / 2;
        let quantiles = |of: &(dyn Fn(&Draw) -> &[f32] + Sync)| -> Vec<f32> {
            (0..pairs)
                .into_par_iter()
                .map(|pair| {
                    let mut values: Vec<f32> = draws.iter().map(|draw| of(draw)[pair]).collect();
                    quantile(&mut values)
                })
                .collect()
        };
        let times = Matrix::new(chosen.len(), quantiles(&|draw| &draw.times));
        let signals = Matrix::new(chosen.len(), quantiles(&|draw| &draw.signals));
        let peaks: Vec<u32> = spikes.iter().map(|one| one.len().max(1).ilog2()).collect();
        let mut places = vec![None; rows.len()];
        for (place, task) in chosen.iter().enumerate() {
            places[*task] = Some(place);
        }
        Self {
            places,
            times_by_peaks: by_peaks(&times, &chosen, &peaks),
            times_of_all: times.mean(),
            signals_of_all: signals.mean(),
            times,
            signals,
            peaks,
            significance,
        }
    }

    /// The quantile of C for a pair.
    pub(crate) fn times(&self, one: usize, other: usize) -> f64 {
        self.exactly(&self.times, one, other).unwrap_or_else(|| {
            let key = key(self.peaks[one], self.peaks[other]);
            let of_alike = self.times_by_peaks.get(&key).copied();
            of_alike.unwrap_or(self.times_of_all)
        })
    }

    /// The quantile of the partial correlation for a pair.
    pub(crate) fn signals(&self, one: usize, other: usize) -> f64 {
        self.exactly(&self.signals, one, other)
            .unwrap_or(self.signals_of_all)
    }

    fn exactly(&self, matrix: &Matrix, one: usize, other: usize) -> Option<f64> {
        let place = |task: usize| self.places.get(task).copied().flatten();
        matrix.get(place(one)?, place(other)?)
    }
}

/// The tasks that are shifted.
fn chosen(tasks: usize) -> Vec<usize> {
    let number = tasks.min(TASKS_MAX);
    (0..number).map(|place| place * tasks / number).collect()
}

fn draw(rows: &Rows, spikes: &[Spikes], chosen: &[usize], lags: &[usize]) -> Draw {
    let circle = 2 * rows.steps as u64;
    let moments: Vec<Vec<u64>> = chosen
        .iter()
        .zip(lags)
        .map(|(task, lag)| spikes[*task].shifted(2 * *lag as u64, circle))
        .collect();
    let series: Vec<Vec<f32>> = chosen
        .iter()
        .zip(lags)
        .map(|(task, lag)| {
            let mut series = rows.telling()[*task].clone();
            let steps = series.len().max(1);
            series.rotate_right(lag % steps);
            series
        })
        .collect();
    let pairs = || Matrix::pairs(chosen.len());
    Draw {
        times: pairs()
            .map(|(one, other)| spikes::times(&moments[one], &moments[other], circle) as f32)
            .collect(),
        signals: pairs()
            .map(|(one, other)| fourier::product(&series[one], &series[other]) as f32)
            .collect(),
    }
}

fn significance(truth: &Draw, draws: &[Draw], measure: Measure) -> Significance {
    let mean = |draw: &Draw| {
        let values = match measure {
            Measure::Times => &draw.times,
            Measure::Signals => &draw.signals,
        };
        let sum: f64 = values.iter().map(|value| f64::from(*value)).sum();
        sum / values.len().max(1) as f64
    };
    let found = mean(truth);
    let by_chance: Vec<f64> = draws.iter().map(mean).collect();
    let reached = by_chance.iter().filter(|mean| **mean >= found).count();
    Significance {
        mean: found,
        mean_by_chance: by_chance.iter().sum::<f64>() / by_chance.len().max(1) as f64,
        p: (reached + 1) as f64 / (draws.len() + 1) as f64,
    }
}

fn quantile(values: &mut [f32]) -> f32 {
    values.sort_unstable_by(f32::total_cmp);
    let place = (values.len() as f64 * QUANTILE) as usize;
    values
        .get(place.min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}

fn key(one: u32, other: u32) -> (u32, u32) {
    (one.min(other), one.max(other))
}

fn by_peaks(times: &Matrix, chosen: &[usize], peaks: &[u32]) -> BTreeMap<(u32, u32), f64> {
    let mut sums: BTreeMap<(u32, u32), (f64, f64)> = BTreeMap::new();
    for ((one, other), value) in Matrix::pairs(chosen.len()).zip(times.values()) {
        let sum = sums
            .entry(key(peaks[chosen[one]], peaks[chosen[other]]))
            .or_default();
        sum.0 += f64::from(*value);
        sum.1 += 1.0;
    }
    let mean = |(key, (sum, pairs)): ((u32, u32), (f64, f64))| (key, sum / pairs);
    sums.into_iter().map(mean).collect()
}
