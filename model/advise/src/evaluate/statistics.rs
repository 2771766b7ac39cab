//! Rates with intervals.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// So many of so many, with the 95 % interval of Wilson's score (E. B. Wilson, "Probable
/// inference, the law of succession, and statistical inference", 1927).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// So many
    pub right: u32,
    /// of so many.
    pub all: u32,
    /// The rate, 0 to 1; 0 of none.
    pub rate: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The rate of `right` among `all`, with its 95 % interval.
#[must_use]
pub fn wilson(right: u32, all: u32) -> Rate {
    let right = right.min(all);
    if all == 0 {
        return Rate {
            high: 1.0,
            ..Rate::default()
        };
    }
    let z = Normal::standard().inverse_cdf(0.975);
    let (n, p) = (f64::from(all), f64::from(right) / f64::from(all));
    let denominator = 1.0 + z * z / n;
    let centre = (p + z * z / (2.0 * n)) / denominator;
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / denominator;
    Rate {
        right,
        all,
        rate: p,
        low: (centre - half).max(0.0),
        high: (centre + half).min(1.0),
    }
}

/// Slope and intercept of the line through (x, y) by least squares; none if x does not vary.
pub(crate) fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let common: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    (points.len() > 1 && spread > 1e-12).then(|| (common / spread, y - common / spread * x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_rates_have_the_intervals_that_are_known() {
        // Figures 6.3 and 6.6: 32 of 41 and 36 of 39.
        let clovertown = wilson(32, 41);
        assert!((clovertown.rate - 0.7805).abs() < 1e-4);
        assert!((clovertown.low - 0.63).abs() < 0.005 && (clovertown.high - 0.88).abs() < 0.005);
        let npb = wilson(36, 39);
        assert!((npb.low - 0.80).abs() < 0.005 && (npb.high - 0.97).abs() < 0.005);
        assert_eq!(wilson(0, 0).high, 1.0);
        assert!(wilson(10, 10).low > 0.7 && wilson(10, 10).high > 0.999);
    }

    #[test]
    fn a_line_is_found() {
        let (slope, intercept) = line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).unwrap();
        assert!((slope - 2.0).abs() < 1e-12 && (intercept - 1.0).abs() < 1e-12);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
