//! Correlations against lag, by Fourier transforms.

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Correlates series of one length at all lags.
#[derive(Clone)]
pub(crate) struct Lags {
    steps: usize,
    size: usize,
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
}

/// A series as its frequencies: padded with as many zeros, so that its end does not meet
/// its begin.
pub(crate) type Spectrum = Vec<Complex<f32>>;

impl Lags {
    pub(crate) fn new(steps: usize) -> Self {
        let size = (2 * steps.max(1)).next_power_of_two();
        let mut planner = FftPlanner::new();
        Self {
            steps,
            size,
            forward: planner.plan_fft_forward(size),
            inverse: planner.plan_fft_inverse(size),
        }
    }

    pub(crate) fn spectrum(&self, series: impl IntoIterator<Item = f32>) -> Spectrum {
        let mut spectrum: Spectrum = series
            .into_iter()
            .take(self.steps)
            .map(|value| Complex::new(value, 0.0))
            .collect();
        spectrum.resize(self.size, Complex::default());
        self.forward.process(&mut spectrum);
        spectrum
    }

    /// Sums of products of `one` and `other` moved back by the lag, for lags from 0 on and,
    /// from the end backwards, for lags from -1 down; so `other` comes later where the lag
    /// with the largest is positive.
    pub(crate) fn products(&self, one: &Spectrum, other: &Spectrum) -> Vec<f32> {
        let mut products: Spectrum = one
            .iter()
            .zip(other)
            .map(|(one, other)| one.conj() * other)
            .collect();
        self.inverse.process(&mut products);
        let scale = 1.0 / self.size as f32;
        products.iter().map(|value| value.re * scale).collect()
    }
}

/// `counts` less their mean, divided by their standard deviation and by the root of their
/// number, so that products of two series sum up to Pearson's correlation. Zeros if they
/// are all equal.
pub(crate) fn normalised(counts: &[u64]) -> Vec<f32> {
    let steps = counts.len().max(1) as f64;
    let mean = counts.iter().map(|count| *count as f64).sum::<f64>() / steps;
    let square = |count: &u64| (*count as f64 - mean).powi(2);
    let length = counts.iter().map(square).sum::<f64>().sqrt();
    // Equal counts leave what rounding left.
    let is_constant = counts.iter().all(|count| Some(count) == counts.first());
    let scale = if is_constant || length <= 0.0 {
        0.0
    } else {
        1.0 / length
    };
    let value = |count: &u64| ((*count as f64 - mean) * scale) as f32;
    counts.iter().map(value).collect()
}

/// Sum of products.
pub(crate) fn product(one: &[f32], other: &[f32]) -> f64 {
    let lanes = |one: &[f32], other: &[f32]| {
        let mut sums = [0.0_f32; 16];
        let (one, other) = (one.chunks_exact(16), other.chunks_exact(16));
        for (one, other) in one.zip(other) {
            for lane in 0..16 {
                sums[lane] += one[lane] * other[lane];
            }
        }
        sums.iter().sum::<f32>()
    };
    let steps = one.len().min(other.len());
    let whole = steps / 16 * 16;
    let rest = one[whole..steps].iter().zip(&other[whole..steps]);
    f64::from(lanes(&one[..whole], &other[..whole]) + rest.map(|(a, b)| a * b).sum::<f32>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lags_are_those_of_the_definition() {
        let one = normalised(&[0, 9, 0, 0, 1, 0, 5, 0, 0]);
        let other = normalised(&[0, 0, 0, 9, 0, 0, 1, 0, 5]);
        let lags = Lags::new(9);
        let products = lags.products(&lags.spectrum(one.clone()), &lags.spectrum(other.clone()));
        for lag in 0..9_usize {
            let later: f32 = (0..9 - lag).map(|t| one[t] * other[t + lag]).sum();
            assert!((products[lag] - later).abs() < 1e-5, "{lag}");
            if lag > 0 {
                let earlier: f32 = (lag..9).map(|t| one[t] * other[t - lag]).sum();
                assert!((products[products.len() - lag] - earlier).abs() < 1e-5);
            }
        }
        let best = (0..9).max_by(|a, b| products[*a].total_cmp(&products[*b]));
        assert_eq!(best, Some(2));
        assert!((product(&one, &other) - f64::from(products[0])).abs() < 1e-5);
    }

    #[test]
    fn what_is_constant_correlates_with_nothing() {
        assert_eq!(normalised(&[7; 5]), [0.0; 5]);
        assert_eq!(normalised(&[u64::MAX; 3]), [0.0; 3]);
        assert!(normalised(&[]).is_empty());
        let one = normalised(&[u64::MAX, 0, 0, 1]);
        assert!(one.iter().all(|value| value.is_finite()));
        assert!((product(&one, &one) - 1.0).abs() < 1e-5);
    }
}
