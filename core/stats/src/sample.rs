//! What a sample says.

use serde::Serialize;

/// The `q`-quantile (`0.0..=1.0`) with linear interpolation between order statistics; none of
/// no values, or of values that hold a NaN.
#[must_use]
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.iter().any(|v| v.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let fraction = position - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * fraction)
}

/// The median; none where [`quantile`] has none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The geometric mean of positive values; none if there are none, or one of them is not
/// positive.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| v.is_nan() || *v <= 0.0) {
        return None;
    }
    let sum: f64 = values.iter().map(|v| v.ln()).sum();
    Some((sum / values.len() as f64).exp())
}

/// How far a sample scatters, by Tukey's fences at 1.5 interquartile ranges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Interquartile range over the median.
    pub relative_iqr: f64,
    /// Values outside the fences.
    pub outliers: usize,
    /// All values.
    pub samples: usize,
}

/// [`Spread`] of `values`; none where [`quantile`] has none.
#[must_use]
pub fn spread(values: &[f64]) -> Option<Spread> {
    let low = quantile(values, 0.25)?;
    let middle = quantile(values, 0.5)?;
    let high = quantile(values, 0.75)?;
    let reach = 1.5 * (high - low);
    let outliers = values
        .iter()
        .filter(|v| **v < low - reach || **v > high + reach)
        .count();
    Some(Spread {
        relative_iqr: if middle == 0.0 {
            0.0
        } else {
            (high - low) / middle.abs()
        },
        outliers,
        samples: values.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn median_of_odd_even_and_nothing() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn quantiles_interpolate_and_clamp() {
        let values = [10.0, 20.0, 30.0, 40.0, 50.0];
        assert!(close(quantile(&values, 0.1).unwrap(), 14.0));
        assert!(close(quantile(&values, 0.0).unwrap(), 10.0));
        assert!(close(quantile(&values, 7.0).unwrap(), 50.0));
    }

    #[test]
    fn geometric_mean_needs_positive_values() {
        assert!(close(geometric_mean(&[1.0, 4.0, 16.0]).unwrap(), 4.0));
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(geometric_mean(&[1.0, f64::NAN]), None);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn fences_find_the_outlier_and_only_it() {
        let mut values: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i % 5)).collect();
        values.push(1000.0);
        let s = spread(&values).unwrap();
        assert_eq!((s.outliers, s.samples), (1, 21));
        assert!(s.relative_iqr < 0.05);
    }

    #[test]
    fn equal_values_have_no_spread_and_no_outliers() {
        let s = spread(&[5.0; 8]).unwrap();
        assert_eq!((s.relative_iqr, s.outliers), (0.0, 0));
    }
}
