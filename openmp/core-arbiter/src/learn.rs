//! What cores bring a region, from how long it took on several numbers of them.
//!
//! Times follow `a + b / p`, a part that more cores do not shorten and one that they do;
//! least squares over the latest mean times. With one number of cores alone nothing speaks
//! against a gain from each core.

use crate::speedup::Speedup;

/// Numbers of threads that are told apart.
const SIZES: usize = 6;
/// Weight of a new time in the mean.
const NEW: f64 = 0.125;
/// What was expected is believed for so many executions: after that, a region that was only
/// ever executed with one number of threads is given a chance with its fair share, and what it
/// takes then is known.
const EXPECTED: u32 = 32;

/// Times of one region.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    sizes: [Mean; SIZES],
    /// Both parts of the time as expected before it was executed.
    expected: Option<(f64, f64)>,
    /// Whether these are nanoseconds.
    absolute: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    threads: u32,
    count: u32,
    ns: f64,
}

impl Times {
    /// Of a region that has not been executed and is expected to take these times (threads,
    /// nanoseconds), or, unless they are `absolute`, times in this relation. They count until
    /// it has been executed with two numbers of threads.
    #[must_use]
    pub fn expecting(points: impl IntoIterator<Item = (u32, f64)>, absolute: bool) -> Self {
        let mut all = Self::default();
        for (threads, ns) in points {
            all.add(threads, ns);
        }
        Self {
            expected: all.fit().filter(|_| all.known().count() > 1),
            absolute,
            ..Self::default()
        }
    }

    /// What was expected, as long as it is believed.
    fn believed(&self) -> Option<(f64, f64)> {
        let count = self
            .known()
            .fold(0_u32, |all, mean| all.saturating_add(mean.count));
        let open = self.known().count() < 2 && count < EXPECTED;
        self.expected.filter(|_| open)
    }

    /// An execution with `threads` threads took `ns` nanoseconds.
    pub fn add(&mut self, threads: u32, ns: f64) {
        if threads == 0 || !ns.is_finite() || ns < 0.0 {
            return;
        }
        let known = self.sizes.iter().position(|mean| mean.threads == threads);
        let place = known.or_else(|| {
            // The size of which there are fewest times gives way.
            let fewest = self
                .sizes
                .iter()
                .enumerate()
                .min_by_key(|(_, mean)| mean.count);
            fewest.map(|(index, _)| index)
        });
        let Some(mean) = place.and_then(|place| self.sizes.get_mut(place)) else {
            return;
        };
        if known.is_none() {
            *mean = Mean {
                threads,
                count: 0,
                ns,
            };
        }
        mean.count = mean.count.saturating_add(1);
        mean.ns += (ns - mean.ns) * NEW.max(1.0 / f64::from(mean.count));
    }

    /// How long an execution with `threads` threads takes, nanoseconds; none if it has
    /// never been executed.
    #[must_use]
    pub fn expected_ns(&self, threads: u32) -> Option<f64> {
        let exact = self.known().find(|mean| mean.threads == threads);
        if let Some(mean) = exact {
            return Some(mean.ns);
        }
        let at = |(fixed, divided): (f64, f64), threads: u32| {
            fixed + divided / f64::from(threads.max(1))
        };
        match (self.believed(), self.known().next()) {
            (Some(parts), None) => self.absolute.then(|| at(parts, threads)),
            (Some(parts), Some(mean)) if at(parts, mean.threads) > 0.0 => {
                Some(mean.ns * at(parts, threads) / at(parts, mean.threads))
            }
            _ => self.fit().map(|parts| at(parts, threads)),
        }
    }

    /// What cores bring.
    #[must_use]
    pub fn speedup(&self) -> Speedup {
        match self.believed().or_else(|| self.fit()) {
            Some((fixed, divided)) if fixed + divided > 0.0 => {
                Speedup::from_fn(|cores| (fixed + divided) / (fixed + divided / f64::from(cores)))
            }
            _ => Speedup::default(),
        }
    }

    fn known(&self) -> impl Iterator<Item = &Mean> {
        self.sizes.iter().filter(|mean| mean.count > 0)
    }

    /// The two parts of the time, neither below 0.
    fn fit(&self) -> Option<(f64, f64)> {
        let mut sizes = 0.0;
        let [mut x1, mut y1, mut xx, mut xy] = [0.0; 4];
        let mut last = None;
        for mean in self.known() {
            let x = 1.0 / f64::from(mean.threads);
            sizes += 1.0;
            x1 += x;
            y1 += mean.ns;
            xx += x * x;
            xy += x * mean.ns;
            last = Some((x, mean.ns));
        }
        let (x, ns) = last?;
        let spread = sizes * xx - x1 * x1;
        if sizes < 2.0 || spread <= 0.0 {
            return Some((0.0, ns / x));
        }
        let divided = (sizes * xy - x1 * y1) / spread;
        let fixed = (y1 - divided * x1) / sizes;
        Some(if divided <= 0.0 {
            (y1 / sizes, 0.0)
        } else if fixed <= 0.0 {
            (0.0, xy / xx)
        } else {
            (fixed, divided)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_sizes_tell_what_a_third_would_take() {
        let mut times = Times::default();
        assert_eq!(times.expected_ns(4), None);
        assert_eq!(times.speedup(), Speedup::default());
        times.add(8, 100.0 + 800.0 / 8.0);
        assert_eq!(times.speedup(), Speedup::default());
        times.add(16, 100.0 + 800.0 / 16.0);
        assert!((times.expected_ns(2).unwrap() - 500.0).abs() < 1e-6);
        assert!((times.speedup().at(2) - 1.8).abs() < 0.01);
    }

    #[test]
    fn what_is_expected_counts_until_it_was_tried() {
        for absolute in [true, false] {
            // Hardly anything divides.
            let points = [(1, 1000.0), (2, 950.0), (4, 925.0)];
            let mut times = Times::expecting(points, absolute);
            assert!(times.speedup().at(8) < 1.2);
            assert_eq!(times.expected_ns(1).is_some(), absolute);
            times.add(1, 500.0);
            assert!(times.speedup().at(8) < 1.2);
            assert!((times.expected_ns(2).unwrap() - 475.0).abs() < 5.0);
            // It divides perfectly, as shows.
            times.add(2, 250.0);
            assert!(times.speedup().at(8) > 7.5);
        }
        let mut wrong = Times::expecting([(1, 1000.0), (2, 1000.0)], true);
        for _ in 0..EXPECTED {
            assert!(wrong.speedup().at(8) < 1.2);
            wrong.add(1, 1000.0);
        }
        assert_eq!(wrong.speedup(), Speedup::default(), "it gets a chance");
        // One time says nothing of others.
        assert_eq!(
            Times::expecting([(4, 9.0)], true).speedup(),
            Speedup::default()
        );
    }

    #[test]
    fn what_gets_slower_with_cores_is_not_worth_any() {
        let mut times = Times::default();
        times.add(1, 100.0);
        times.add(2, 150.0);
        assert!((times.speedup().at(16) - 1.0).abs() < 0.04);
    }

    proptest! {
        #[test]
        fn any_times_give_a_curve(times in proptest::collection::vec((0_u32..300, any::<f64>()), 0..50)) {
            let mut all = Times::default();
            for (threads, ns) in times {
                all.add(threads, ns);
            }
            let value = all.speedup().at(9);
            prop_assert!((0.0..=9.0).contains(&value));
            prop_assert!(all.expected_ns(3).is_none_or(|ns| ns >= 0.0));
        }
    }
}
