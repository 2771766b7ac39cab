//! Intervals by resampling (Efron's bootstrap): the same samples always give the same one.

use crate::Random;
use crate::sample::{median, quantile};
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

impl Random {
    /// As many values as given, drawn with replacement.
    pub fn draw(&mut self, values: &[f64]) -> Vec<f64> {
        (0..values.len())
            .map(|_| values[self.below(values.len())])
            .collect()
    }

    /// Resamples groups and then the values inside each group drawn, because samples of one
    /// process resemble each other more than samples of two: the median of the groups' medians.
    pub fn draw_grouped_median(&mut self, groups: &[Vec<f64>]) -> Option<f64> {
        let mut medians = Vec::with_capacity(groups.len());
        for _ in 0..groups.len() {
            let group = &groups[self.below(groups.len())];
            medians.extend(median(&self.draw(group)));
        }
        median(&medians)
    }
}

/// The median of the groups' medians: what [`Random::draw_grouped_median`] resamples.
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
            let mut resampler = Random(seed);
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
}
