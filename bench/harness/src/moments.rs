//! Means and standard deviations as EPCC's programs print them, and how those
//! of several runs combine.
//!
//! A run is known by its number of samples n, its mean m and its standard
//! deviation s. That is enough to recover what all samples together would give
//! (the analysis of variance's identity): the sum of squares about the common
//! mean M is the sum within the runs, (n - 1) s^2, plus the sum between them,
//! n (m - M)^2.

use serde::Serialize;

/// What EPCC counts as an outlier: further from the mean than so many standard
/// deviations.
const OUTLIER_SDS: f64 = 3.0;

/// Samples described as EPCC describes them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Moments {
    /// Number of samples.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, with count - 1 in the denominator; 0 for one
    /// sample.
    pub sd: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Samples further than three standard deviations from the mean.
    pub outliers: usize,
}

impl Moments {
    /// Describes `samples`; `None` if there are none or one is not finite.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() || samples.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let count = samples.len();
        let mean = samples.iter().sum::<f64>() / count as f64;
        let squares: f64 = samples.iter().map(|v| (v - mean).powi(2)).sum();
        let sd = deviation(squares, count);
        let fold = |pick: fn(f64, f64) -> f64| samples.iter().copied().fold(mean, pick);
        Some(Self {
            count,
            mean,
            sd,
            min: fold(f64::min),
            max: fold(f64::max),
            outliers: samples
                .iter()
                .filter(|v| (**v - mean).abs() > OUTLIER_SDS * sd)
                .count(),
        })
    }
}

/// Several runs together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OverRuns {
    /// Number of runs.
    pub runs: usize,
    /// Mean of all samples of all runs.
    pub mean: f64,
    /// Standard deviation of all samples of all runs about that mean.
    pub sd_samples: f64,
    /// Standard deviation of the runs' means; absent with a single run.
    pub sd_runs: Option<f64>,
}

impl OverRuns {
    /// Combines runs by their moments alone; `None` if there are none.
    #[must_use]
    pub fn of(runs: &[Moments]) -> Option<Self> {
        let count: usize = runs.iter().map(|run| run.count).sum();
        if count == 0 {
            return None;
        }
        let mean = runs
            .iter()
            .map(|run| run.mean * run.count as f64)
            .sum::<f64>()
            / count as f64;
        let within: f64 = runs
            .iter()
            .map(|run| run.count.saturating_sub(1) as f64 * run.sd.powi(2))
            .sum();
        let between: f64 = runs
            .iter()
            .map(|run| run.count as f64 * (run.mean - mean).powi(2))
            .sum();
        let means: Vec<f64> = runs.iter().map(|run| run.mean).collect();
        Some(Self {
            runs: runs.len(),
            mean,
            sd_samples: deviation(within + between, count),
            sd_runs: (runs.len() > 1)
                .then(|| Moments::of(&means).map(|over| over.sd))
                .flatten(),
        })
    }
}

/// Standard deviation from a sum of squares about the mean.
fn deviation(squares: f64, count: usize) -> f64 {
    if count < 2 {
        0.0
    } else {
        (squares / (count - 1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_of_known_samples() {
        let found = Moments::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((found.count, found.mean), (8, 5.0));
        assert!((found.sd - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((found.min, found.max, found.outliers), (2.0, 9.0, 0));
        let one = Moments::of(&[3.0]).unwrap();
        assert_eq!((one.sd, one.min, one.max), (0.0, 3.0, 3.0));
        assert_eq!(Moments::of(&[]), None);
        assert_eq!(Moments::of(&[f64::NAN]), None);
    }

    #[test]
    fn a_far_sample_is_an_outlier() {
        let mut samples = vec![10.0; 30];
        samples.push(1000.0);
        assert_eq!(Moments::of(&samples).unwrap().outliers, 1);
    }

    #[test]
    fn a_single_run_says_nothing_about_runs() {
        let run = Moments::of(&[1.0, 2.0, 3.0]).unwrap();
        let over = OverRuns::of(&[run]).unwrap();
        assert_eq!(over.sd_runs, None);
        assert!((over.sd_samples - run.sd).abs() < 1e-12);
        assert_eq!(OverRuns::of(&[]), None);
    }

    proptest! {
        /// What the runs' moments give is what the raw samples give.
        #[test]
        fn combined_moments_equal_those_of_the_pooled_samples(
            runs in prop::collection::vec(prop::collection::vec(-1e6..1e6_f64, 1..40), 1..8)
        ) {
            let moments: Vec<Moments> = runs.iter().filter_map(|run| Moments::of(run)).collect();
            let over = OverRuns::of(&moments).unwrap();
            let pooled = Moments::of(&runs.concat()).unwrap();
            let tolerance = 1e-9 * (1.0 + pooled.sd + pooled.mean.abs());
            prop_assert!((over.mean - pooled.mean).abs() <= tolerance);
            prop_assert!((over.sd_samples - pooled.sd).abs() <= tolerance);
            if runs.len() > 1 {
                let means: Vec<f64> = runs
                    .iter()
                    .map(|run| run.iter().sum::<f64>() / run.len() as f64)
                    .collect();
                let grand = means.iter().sum::<f64>() / means.len() as f64;
                let direct = (means.iter().map(|m| (m - grand).powi(2)).sum::<f64>()
                    / (means.len() - 1) as f64)
                    .sqrt();
                prop_assert!((over.sd_runs.unwrap() - direct).abs() <= tolerance);
            }
        }
    }
}
