//! How two samples of times compare: the ratio of their medians.

use crate::Random;
use crate::resample::{Interval, percentile_interval};
use crate::sample::median;
use serde::Serialize;

/// Draws of a bootstrap interval.
const DRAWS: usize = 2000;
/// With fewer values on a side a bootstrap of medians is too sure: of two or three values it knows
/// nothing beyond the least and the greatest, and of two equal samples of three it tells one in
/// ten apart.
const BOOTSTRAP_MIN: usize = 5;
/// Student's t at 0.975 with 1 to 8 degrees of freedom: samples with a side of less than
/// [`BOOTSTRAP_MIN`] values rarely have more, and more would be below the last.
const STUDENT: [f64; 8] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306];

/// One value over another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// 95 %; none where there are too few values to tell.
    pub interval: Option<Interval>,
}

impl Ratio {
    /// The median of `after` over that of `before`; none if either is empty, or holds a value that is no
    /// positive number. The values are of independent runs.
    ///
    /// The interval is a bootstrap over the values of each side. Where one has less than five
    /// values, it is widened to what Student's t says of the logarithms, with the deviation of both
    /// sides pooled. With one value on each side there is none.
    #[must_use]
    pub fn of_medians(before: &[f64], after: &[f64]) -> Option<Self> {
        let all = || before.iter().chain(after);
        if all().any(|value| !(value.is_finite() && *value > 0.0)) {
            return None;
        }
        let value = median(after)? / median(before)?;
        if all().count() < 3 {
            let interval = None;
            return Some(Self { value, interval });
        }
        let mut resampler = Random(1);
        let draws: Vec<f64> = (0..DRAWS)
            .filter_map(|_| {
                let before = median(&resampler.draw(before))?;
                Some(median(&resampler.draw(after))? / before)
            })
            .collect();
        let drawn = percentile_interval(&draws)?.around(value);
        let few = before.len().min(after.len()) < BOOTSTRAP_MIN;
        let wide = match few {
            true => student(before, after, value),
            false => drawn,
        };
        Some(Self {
            value,
            interval: Some(Interval {
                low: drawn.low.min(wide.low),
                high: drawn.high.max(wide.high),
            }),
        })
    }

    /// Whether it is certain that it is not 1.
    #[must_use]
    pub fn differs(&self) -> bool {
        let interval = self.interval;
        interval.is_some_and(|interval| !interval.contains(1.0))
    }
}

/// The interval around `value` by Student's t on logarithms.
fn student(before: &[f64], after: &[f64], value: f64) -> Interval {
    let squares = |values: &[f64]| {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>()
    };
    let freedom = (before.len() + after.len()).saturating_sub(2).max(1);
    let deviation = ((squares(before) + squares(after)) / freedom as f64).sqrt();
    let each = |values: &[f64]| 1.0 / values.len().max(1) as f64;
    let t = STUDENT[freedom.min(STUDENT.len()) - 1];
    let half = t * deviation * (each(before) + each(after)).sqrt();
    Interval {
        low: value * (-half).exp(),
        high: value * half.exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(before: &[f64], after: &[f64]) -> Interval {
        let ratio = Ratio::of_medians(before, after).unwrap();
        ratio.interval.unwrap()
    }

    #[test]
    fn what_is_twice_as_long_is_seen_from_two_runs_on() {
        for runs in 2..8 {
            let before: Vec<f64> = (0..runs).map(|run| 100.0 + f64::from(run)).collect();
            let after: Vec<f64> = before.iter().map(|ns| ns * 2.0).collect();
            let ratio = Ratio::of_medians(&before, &after).unwrap();
            assert!(
                (ratio.value - 2.0).abs() < 1e-9 && ratio.differs(),
                "{runs}"
            );
            assert!(ratio.interval.unwrap().contains(2.0));
        }
    }

    #[test]
    fn few_runs_that_lie_apart_by_chance_are_not_told_apart() {
        // All of one side are above all of the other: one in three of such pairs is.
        assert!(interval(&[100.0, 102.0], &[103.0, 106.0]).contains(1.0));
        assert!(interval(&[100.0, 104.0, 101.0], &[104.1, 105.0, 108.0]).contains(1.0));
    }

    #[test]
    fn one_run_is_compared_with_several_and_not_with_one() {
        let several = [100.0, 101.0, 99.0, 100.5, 99.5];
        assert!(!interval(&[150.0], &several).contains(1.0));
        assert!(interval(&[101.0], &several).contains(1.0));
        let single = Ratio::of_medians(&[100.0], &[150.0]).unwrap();
        assert!(single.interval.is_none() && !single.differs());
    }

    #[test]
    fn what_is_no_time_has_no_ratio() {
        for (before, after) in [
            (&[][..], &[1.0][..]),
            (&[0.0], &[1.0]),
            (&[1.0], &[f64::NAN]),
            (&[1.0, -1.0], &[1.0, 2.0]),
        ] {
            assert_eq!(Ratio::of_medians(before, after), None);
        }
    }

    #[test]
    fn equal_samples_are_seldom_told_apart() {
        let mut random = Random(7);
        for runs in [2, 3, 4, 5, 8] {
            let mut sample = || -> Vec<f64> {
                let noise = (0..runs).map(|_| 1.0 + 0.02 * random.normal());
                noise.collect()
            };
            let pairs = 200;
            let apart = (0..pairs).filter(|_| {
                let ratio = Ratio::of_medians(&sample(), &sample());
                ratio.is_some_and(|ratio| ratio.differs())
            });
            let apart = apart.count();
            assert!(apart <= pairs / 10, "{apart} of {pairs} with {runs} runs");
        }
    }
}
