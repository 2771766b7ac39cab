//! Counts of two tasks against each other.

use super::Rows;
use crate::fourier::{self, Lags, Spectrum};
use rayon::prelude::*;

/// Values of all pairs' correlations at all lags that are computed; with more tasks, steps
/// are merged.
const WORK_MAX: usize = 500_000_000;
/// Steps left at least.
const STEPS_MIN: usize = 64;

/// Of every pair, in their order.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Pearson's correlation.
    pub(crate) at_once: Vec<f32>,
    /// The same without what the lengths of steps explain, if these differ.
    pub(crate) partial: Option<Vec<f32>>,
    /// The largest at any lag, and that lag in steps: positive if the second is later.
    pub(crate) at_best: Vec<f32>,
    pub(crate) lags: Vec<i64>,
    /// Sum of smaller counts / sum of larger ones.
    pub(crate) overlap: Vec<f32>,
}

pub(crate) fn signals(rows: &Rows, pairs: &[(usize, usize)]) -> Signals {
    let products = |series: &[Vec<f32>]| -> Vec<f32> {
        let product =
            |&(one, other): &(usize, usize)| fourier::product(&series[one], &series[other]) as f32;
        pairs.par_iter().map(product).collect()
    };
    let at_once = products(&rows.series);
    let partial = rows.beyond_lengths.as_deref().map(products);
    let overlap = pairs
        .par_iter()
        .map(|&(one, other)| overlap(rows, one, other))
        .collect();
    let factor = merging(rows.steps, pairs.len());
    let merged: Vec<Vec<f32>> = rows
        .series
        .par_iter()
        .map(|series| merge(series, factor))
        .collect();
    let steps = merged.first().map_or(0, Vec::len);
    let lags = Lags::new(steps);
    let spectra: Vec<Spectrum> = merged
        .into_par_iter()
        .map(|series| lags.spectrum(series))
        .collect();
    let best: Vec<(f32, i64)> = pairs
        .par_iter()
        .zip(&at_once)
        .map(|(&(one, other), &at_once)| {
            let products = lags.products(&spectra[one], &spectra[other]);
            let (value, lag) = best(&products, steps);
            // Merged steps see less exactly: no lag is better only because of that.
            match value > at_once + 1e-3 && lag != 0 {
                true => (value, lag * factor as i64),
                false => (at_once, 0),
            }
        })
        .collect();
    let (at_best, lags) = best.into_iter().unzip();
    Signals {
        at_once,
        partial,
        at_best,
        lags,
        overlap,
    }
}

/// How many steps become one.
fn merging(steps: usize, pairs: usize) -> usize {
    let mut factor = 1;
    let size = |factor: usize| 2 * (steps / factor).max(1).next_power_of_two();
    while pairs.saturating_mul(size(factor)) > WORK_MAX && steps / (2 * factor) >= STEPS_MIN {
        factor *= 2;
    }
    factor
}

fn merge(series: &[f32], factor: usize) -> Vec<f32> {
    let mut merged: Vec<f32> = series
        .chunks(factor)
        .map(|chunk| chunk.iter().sum())
        .collect();
    if factor > 1 {
        let length = merged.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            for value in &mut merged {
                *value /= length;
            }
        }
    }
    merged
}

/// The largest correlation at lags up to a quarter of the length, corrected for the shorter
/// overlap, and its lag; of equal ones the shortest lag.
fn best(products: &[f32], steps: usize) -> (f32, i64) {
    let mut best = (products.first().copied().unwrap_or(0.0), 0);
    for lag in 1..=steps / 4 {
        let correction = steps as f32 / (steps - lag) as f32;
        let earlier = products.len().checked_sub(lag);
        let candidates = [(Some(lag), lag as i64), (earlier, -(lag as i64))];
        for (place, lag) in candidates {
            let value = place.and_then(|place| products.get(place)).copied();
            let value = (value.unwrap_or(0.0) * correction).clamp(-1.0, 1.0);
            if value > best.0 {
                best = (value, lag);
            }
        }
    }
    best
}

/// Sum of the smaller counts / sum of the larger ones.
fn overlap(rows: &Rows, one: usize, other: usize) -> f32 {
    let ((mean, scale), (of_mean, of_scale)) = (rows.scales[one], rows.scales[other]);
    // min and max of x and y are (x + y -+ |x - y|) / 2.
    let apart: f64 = rows.series[one]
        .chunks(1_024)
        .zip(rows.series[other].chunks(1_024))
        .map(|(one, other)| {
            let shift = (mean - of_mean) as f32;
            let (scale, of_scale) = (scale as f32, of_scale as f32);
            let mut sums = [0.0_f32; 16];
            let (one, other) = (one.chunks(16), other.chunks(16));
            for (one, other) in one.zip(other) {
                for (sum, (x, y)) in sums.iter_mut().zip(one.iter().zip(other)) {
                    *sum += (x * scale - y * of_scale + shift).abs();
                }
            }
            f64::from(sums.iter().sum::<f32>())
        })
        .sum();
    let both = (mean + of_mean) * rows.steps as f64;
    let larger = both + apart;
    if larger > 0.0 && larger.is_finite() {
        ((both - apart) / larger).clamp(0.0, 1.0) as f32
    } else {
        0.0
    }
}
