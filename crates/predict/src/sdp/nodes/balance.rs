//! How evenly work is divided among threads.
//!
//! It was recorded with other numbers of nodes: a thread works as much, relative to the
//! mean of all, as those that had its part of the loops there. If there are no such
//! recordings, the one whose time is wanted says it.

use super::Beside;
use super::part::Part;
use fathomp_analyse::{Analysis, Region};

/// What each thread of a region works, relative to the mean: of each recording that says
/// it, in the order of its threads.
#[derive(Debug)]
pub(super) struct Balance(Vec<Vec<f64>>);

impl Balance {
    pub(super) fn new(analysis: &Analysis, region: &Region, beside: &Beside<'_>) -> Self {
        let others = beside.others.iter().filter_map(|other| {
            let mut regions = other.regions.iter();
            Self::of(regions.find(|one| one.key == region.key)?, beside)
        });
        let mut all: Vec<_> = others.collect();
        if all.is_empty() {
            let same = analysis.regions.iter().find(|one| one.key == region.key);
            all.extend(same.and_then(|same| Self::of(same, beside)));
        }
        Self(all)
    }

    /// Of one recording; nothing if its threads did nothing, or looked for others' writes.
    fn of(region: &Region, beside: &Beside<'_>) -> Option<Vec<f64>> {
        let parts = Part::all(region, beside.protocol);
        let all_ns: f64 = parts.iter().map(|part| part.own_ns).sum();
        if all_ns <= 0.0 || parts.iter().any(Part::looks) {
            return None;
        }
        let mean_ns = all_ns / parts.len() as f64;
        Some(parts.iter().map(|part| part.own_ns / mean_ns).collect())
    }

    /// Whether anything is known.
    pub(super) fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// What thread `thread` of `threads` works, relative to the mean.
    pub(super) fn of_thread(&self, thread: usize, threads: usize) -> f64 {
        let each = self.0.iter().map(|one| between(one, thread, threads));
        each.sum::<f64>() / self.0.len().max(1) as f64
    }
}

/// Mean of a step function between `part / parts` and `(part + 1) / parts` of its range.
fn between(steps: &[f64], part: usize, parts: usize) -> f64 {
    let scale = steps.len() as f64 / parts.max(1) as f64;
    let [from, to] = [part, part + 1].map(|end| end as f64 * scale);
    let inside = steps.iter().enumerate().map(|(step, height)| {
        let [begin, end] = [step, step + 1].map(|end| end as f64);
        height * (end.min(to) - begin.max(from)).max(0.0)
    });
    inside.sum::<f64>() / scale.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_work_what_those_with_their_part_did() {
        let balance = Balance(vec![vec![1.5, 0.5], vec![1.0, 3.0, 0.0, 0.0]]);
        let of = |threads: usize| -> Vec<f64> {
            let all = (0..threads).map(|thread| balance.of_thread(thread, threads));
            all.collect()
        };
        assert_eq!(of(2), [1.75, 0.25]);
        assert_eq!(of(4), [1.25, 2.25, 0.25, 0.25]);
        assert_eq!(of(8)[..4], [1.25, 1.25, 2.25, 2.25]);
        let mean: f64 = of(3).iter().sum::<f64>() / 3.0;
        assert!((mean - 1.0).abs() < 1e-12, "{mean}");
    }
}
