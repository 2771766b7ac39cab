//! Robust statistics for timing samples.
//!
//! Timing samples are bounded below by the machine and have a long tail above,
//! put there by other programs and the kernel. Hence medians instead of means,
//! resampling instead of an assumed distribution, and fences instead of
//! standard deviations.

use serde::{Deserialize, Serialize};

/// A two-sided 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval with the value that it is of: of few samples, what is resampled can miss it.
    #[must_use]
    pub fn around(self, value: f64) -> Self {
        Self {
            low: self.low.min(value),
            high: self.high.max(value),
        }
    }

    /// True if `value` lies inside or on the ends.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The `q`-quantile (`0.0..=1.0`) with linear interpolation between order
/// statistics; `None` for an empty slice or one that holds a NaN.
#[must_use]
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(quantile_sorted(&sorted, q))
}

/// [`quantile`] of values that are already in ascending order. Empty gives NaN.
fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let fraction = position - below as f64;
    sorted[below] + (sorted[above] - sorted[below]) * fraction
}

/// The median; `None` where [`quantile`] has none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The geometric mean of positive values; `None` if there are none or one of
/// them is not positive.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| v.is_nan() || *v <= 0.0) {
        return None;
    }
    let sum: f64 = values.iter().map(|v| v.ln()).sum();
    Some((sum / values.len() as f64).exp())
}

/// How far samples scatter, by Tukey's fences at 1.5 interquartile ranges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Interquartile range over the median.
    pub relative_iqr: f64,
    /// Samples outside the fences.
    pub outliers: usize,
    /// All samples.
    pub samples: usize,
}

/// [`Spread`] of `values`; `None` where [`quantile`] has none.
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

/// A small reproducible generator (SplitMix64) for resampling: the same
/// samples always give the same interval.
#[derive(Debug, Clone)]
pub struct Resampler(u64);

impl Resampler {
    /// Starts the sequence that belongs to `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// An index below `len`, which must not be 0.
    fn index(&mut self, len: usize) -> usize {
        // The bias of taking the high half of the product is below 2^-32 here.
        ((u128::from(self.next()) * len as u128) >> 64) as usize
    }

    /// As many values as given, drawn with replacement.
    pub fn draw(&mut self, values: &[f64]) -> Vec<f64> {
        (0..values.len())
            .map(|_| values[self.index(values.len())])
            .collect()
    }

    /// Puts items into a random order, each equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// Resamples groups and then the values inside each group drawn, because
    /// samples of one process resemble each other more than samples of two.
    /// Returns the median of the groups' medians.
    pub fn draw_grouped_median(&mut self, groups: &[Vec<f64>]) -> Option<f64> {
        let mut medians = Vec::with_capacity(groups.len());
        for _ in 0..groups.len() {
            let group = &groups[self.index(groups.len())];
            medians.extend(median(&self.draw(group)));
        }
        median(&medians)
    }
}

/// The median of the groups' medians: what [`Resampler::draw_grouped_median`]
/// resamples.
#[must_use]
pub fn grouped_median(groups: &[Vec<f64>]) -> Option<f64> {
    let medians: Vec<f64> = groups.iter().filter_map(|g| median(g)).collect();
    median(&medians)
}

/// The central 95 % of bootstrap replicates.
#[must_use]
pub fn percentile_interval(replicates: &[f64]) -> Option<Interval> {
    Some(Interval {
        low: quantile(replicates, 0.025)?,
        high: quantile(replicates, 0.975)?,
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

    #[test]
    fn bootstrap_is_reproducible_and_covers_the_median() {
        let groups: Vec<Vec<f64>> = (0..5)
            .map(|g| {
                (0..20)
                    .map(|i| 100.0 + f64::from((g * 7 + i * 3) % 11))
                    .collect()
            })
            .collect();
        let interval = |seed| {
            let mut resampler = Resampler::new(seed);
            let replicates: Vec<f64> = (0..500)
                .filter_map(|_| resampler.draw_grouped_median(&groups))
                .collect();
            percentile_interval(&replicates).unwrap()
        };
        assert_eq!(interval(1), interval(1));
        assert!(interval(1).contains(grouped_median(&groups).unwrap()));
        assert!(interval(1).high - interval(1).low < 6.0);
    }

    #[test]
    fn grouped_median_ignores_one_bad_process() {
        let groups = vec![vec![10.0, 11.0, 10.0], vec![10.0; 3], vec![900.0; 3]];
        assert_eq!(grouped_median(&groups), Some(10.0));
        assert_eq!(grouped_median(&[]), None);
    }

    #[test]
    fn every_order_is_as_likely() {
        let mut resampler = Resampler::new(9);
        let mut found = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut items = [1, 2, 3];
            resampler.shuffle(&mut items);
            *found.entry(items).or_insert(0) += 1;
        }
        assert_eq!(found.len(), 6);
        assert!(
            found.values().all(|times| (850..1150).contains(times)),
            "{found:?}"
        );
        resampler.shuffle::<u8>(&mut []);
    }

    #[test]
    fn draws_stay_inside_the_sample() {
        let mut resampler = Resampler::new(42);
        let values = [1.0, 2.0, 3.0];
        for _ in 0..100 {
            assert!(resampler.draw(&values).iter().all(|v| values.contains(v)));
        }
        assert!(resampler.draw(&[]).is_empty());
        assert_eq!(resampler.draw_grouped_median(&[]), None);
    }
}
