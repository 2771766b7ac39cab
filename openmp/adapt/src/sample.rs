//! Times of one team, and what can be said of their mean.

/// Most that are kept.
pub(crate) const MOST: usize = 64;

/// Times, in the order in which they came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    times: [f32; MOST],
    count: usize,
}

/// What can be said of times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    /// The shortest.
    pub(crate) least: f64,
    /// The middle one.
    pub(crate) median: f64,
    /// Such that 25, 50, 75 and 90 % are no longer.
    pub(crate) quantiles: [f64; 4],
    /// Their mean, but for the very longest.
    pub(crate) mean: f64,
    /// Its standard error.
    pub(crate) error: f64,
}

impl Sample {
    pub(crate) const EMPTY: Self = Self {
        times: [0.0; MOST],
        count: 0,
    };

    /// Adds a time; when there is no more room, none.
    pub(crate) fn add(&mut self, time: u64) {
        if let Some(place) = self.times.get_mut(self.count) {
            *place = time as f32;
            self.count += 1;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// What can be said of them. The mean leaves out the longest one in 32, which something
    /// else in the machine has made long. Not more: where a region has executions of very
    /// different length, the few long ones decide.
    pub(crate) fn summary(&self) -> Summary {
        let mut times = self.times;
        let all = &mut times[..self.count];
        all.sort_unstable_by(f32::total_cmp);
        let at = |index: usize| all.get(index).map_or(0.0, |&time| f64::from(time));
        let kept = &all[..all.len() - all.len() / 32];
        let n = kept.len() as f64;
        let mean = kept.iter().copied().map(f64::from).sum::<f64>() / n.max(1.0);
        let squares: f64 = kept.iter().map(|&t| (f64::from(t) - mean).powi(2)).sum();
        Summary {
            least: at(0),
            median: at(all.len() / 2),
            quantiles: [25, 50, 75, 90].map(|percent| at(all.len() * percent / 100)),
            mean,
            error: match kept.len() {
                ..=1 => f64::INFINITY,
                _ => (squares / (n - 1.0) / n).sqrt(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(times: &[u64]) -> Sample {
        let mut sample = Sample::EMPTY;
        times.iter().for_each(|&time| sample.add(time));
        sample
    }

    #[test]
    fn of_nothing_nothing_is_known() {
        assert!(Sample::EMPTY.summary().error.is_infinite());
        assert!(sample(&[7]).summary().error.is_infinite());
    }

    #[test]
    fn a_single_disturbance_among_many_does_not_count() {
        let mut times = vec![10; 31];
        times.push(1_000_000);
        let mean = sample(&times).summary();
        assert!((mean.mean - 10.0).abs() < 1e-9 && mean.error < 1e-9);
    }

    #[test]
    fn more_than_fit_are_left_out() {
        let full = sample(&[3; MOST + 5]);
        assert_eq!(full.len(), MOST);
    }
}
