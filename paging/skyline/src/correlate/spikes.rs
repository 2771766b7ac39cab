//! Peaks that coincide (SPIKE synchronisation).

use crate::peaks::Run;

/// The moments of a task's peaks, their middles, in half steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spikes {
    at: Vec<u64>,
    mass: Vec<u64>,
}

/// How well the peaks of two tasks agree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Synchrony {
    /// C: 2 matches / (peaks of both).
    pub(crate) times: f64,
    /// Of matched peaks: sum of smaller masses / (masses of both less these).
    pub(crate) amplitude: f64,
}

impl Spikes {
    pub(crate) fn new(runs: &[Run]) -> Self {
        let at = runs.iter().map(|run| (2 * run.first + run.bins) as u64);
        Self {
            at: at.collect(),
            mass: runs.iter().map(|run| run.mass).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.at.len()
    }

    /// Agreement with another task's peaks on an axis of so many steps.
    pub(crate) fn with(&self, other: &Self, steps: usize) -> Synchrony {
        let (mut smaller, mut both) = (0.0, 0.0);
        let matches = matches(&self.at, &other.at, 2 * steps as u64, |one, of_other| {
            let (one, of_other) = (self.mass[one] as f64, other.mass[of_other] as f64);
            smaller += one.min(of_other);
            both += one + of_other;
        });
        let amplitude = match both - smaller {
            larger if larger > 0.0 => smaller / larger,
            _ => 0.0,
        };
        Synchrony {
            times: share(matches, self.len() + other.len()),
            amplitude,
        }
    }

    /// The same moments, later by `by` half steps on a circle of `circle`.
    pub(crate) fn shifted(&self, by: u64, circle: u64) -> Vec<u64> {
        let by = by % circle.max(1);
        let split = self.at.partition_point(|at| at + by < circle);
        let wrapped = self.at[split..].iter().map(|at| at + by - circle);
        let rest = self.at[..split].iter().map(|at| at + by);
        wrapped.chain(rest).collect()
    }
}

/// C of moments alone.
pub(crate) fn times(one: &[u64], other: &[u64], length: u64) -> f64 {
    share(
        matches(one, other, length, |_, _| {}),
        one.len() + other.len(),
    )
}

fn share(matches: usize, peaks: usize) -> f64 {
    if peaks == 0 {
        return 0.0;
    }
    2.0 * matches as f64 / peaks as f64
}

/// Number of coincidences: two moments coincide if they are nearer than half the smallest
/// of their four neighbouring gaps (Kreuz, Mulansky, Bozanic 2015). What lies at an end has
/// one gap only; what is alone, the whole length.
fn matches(one: &[u64], other: &[u64], length: u64, mut each: impl FnMut(usize, usize)) -> usize {
    let mut found = 0;
    let mut next = 0;
    for (place, &at) in one.iter().enumerate() {
        while next < other.len() && other[next] < at {
            next += 1;
        }
        // Only the nearest on either side can be near enough, and only one of them.
        let candidates = [next.checked_sub(1), (next < other.len()).then_some(next)];
        for candidate in candidates.into_iter().flatten() {
            let apart = at.abs_diff(other[candidate]);
            let gap = gap(one, place, length).min(gap(other, candidate, length));
            if 2 * apart < gap {
                found += 1;
                each(place, candidate);
                break;
            }
        }
    }
    found
}

fn gap(at: &[u64], place: usize, length: u64) -> u64 {
    let before = place.checked_sub(1).map(|before| at[place] - at[before]);
    let after = at.get(place + 1).map(|after| after - at[place]);
    match (before, after) {
        (Some(before), Some(after)) => before.min(after),
        (Some(gap), None) | (None, Some(gap)) => gap,
        (None, None) => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// By the definition, every pair.
    fn plainly(one: &[u64], other: &[u64], length: u64) -> usize {
        let coincide = |i: usize, j: usize| {
            2 * one[i].abs_diff(other[j]) < gap(one, i, length).min(gap(other, j, length))
        };
        (0..one.len())
            .filter(|i| (0..other.len()).any(|j| coincide(*i, j)))
            .count()
    }

    proptest! {
        #[test]
        fn neighbours_suffice(
            one in prop::collection::btree_set(0..400u64, 0..40),
            other in prop::collection::btree_set(0..400u64, 0..40),
        ) {
            let one: Vec<u64> = one.into_iter().collect();
            let other: Vec<u64> = other.into_iter().collect();
            let found = matches(&one, &other, 400, |_, _| {});
            prop_assert_eq!(found, plainly(&one, &other, 400));
            // Each has one partner at most, so both sides count the same.
            prop_assert_eq!(found, matches(&other, &one, 400, |_, _| {}));
        }

        #[test]
        fn shifts_keep_order_and_number(
            at in prop::collection::btree_set(0..400u64, 0..40), by in 0..2_000u64,
        ) {
            let at: Vec<u64> = at.into_iter().collect();
            let spikes = Spikes { mass: vec![1; at.len()], at: at.clone() };
            let shifted = spikes.shifted(by, 400);
            prop_assert!(shifted.is_sorted());
            let mut expected: Vec<u64> = at.iter().map(|at| (at + by) % 400).collect();
            expected.sort_unstable();
            prop_assert_eq!(shifted, expected);
        }
    }

    #[test]
    fn what_is_equal_agrees_fully() {
        let spikes = Spikes {
            at: vec![10, 50, 90],
            mass: vec![4, 4, 8],
        };
        let same = spikes.with(&spikes, 100);
        assert_eq!((same.times, same.amplitude), (1.0, 1.0));
        let half = Spikes {
            mass: vec![2, 2, 4],
            ..spikes.clone()
        };
        assert_eq!(spikes.with(&half, 100).amplitude, 0.5);
        assert_eq!(spikes.with(&Spikes::default(), 100), Synchrony::default());
    }

    #[test]
    fn poisson_trains_coincide_for_a_quarter() {
        let mut random = StdRng::seed_from_u64(5);
        let length = 100_000_000;
        let mut train = || {
            let mut at: Vec<u64> = (0..20_000)
                .map(|_| random.random_range(0..length))
                .collect();
            at.sort_unstable();
            at.dedup();
            at
        };
        let found = times(&train(), &train(), length);
        assert!((found - 0.25).abs() < 0.01, "{found}");
    }
}
