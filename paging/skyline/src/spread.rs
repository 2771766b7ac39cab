//! Intervals with counts to counts per step of an axis, in integers.

use crate::facts::Window;

/// Steps that follow each other without gaps, of any lengths.
pub(crate) trait Steps {
    /// Begin of the first.
    fn from(&self) -> u64;
    /// End of the last.
    fn to(&self) -> u64;
    /// The step that holds a moment; the first or last for moments outside.
    fn step_of(&self, at: u64) -> usize;
    /// End of a step.
    fn end_of(&self, step: usize) -> u64;
    /// The last step.
    fn last(&self) -> usize;
}

/// Bins of equal length, by the recording's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    from: u64,
    width: u64,
    bins: usize,
}

impl Grid {
    /// The window's bins, which begin at `from` by the recording's clock.
    pub(crate) fn new(from: u64, window: &Window) -> Self {
        Self {
            from,
            width: window.bin_ns.max(1),
            bins: window.bins.max(1),
        }
    }
}

impl Steps for Grid {
    fn from(&self) -> u64 {
        self.from
    }

    fn to(&self) -> u64 {
        self.end_of(self.bins - 1)
    }

    fn step_of(&self, at: u64) -> usize {
        let step = at.saturating_sub(self.from) / self.width;
        (step as usize).min(self.bins - 1)
    }

    fn end_of(&self, step: usize) -> u64 {
        self.from
            .saturating_add((step as u64 + 1).saturating_mul(self.width))
    }

    fn last(&self) -> usize {
        self.bins - 1
    }
}

/// Steps between given moments, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edges<'a> {
    pub(crate) from: u64,
    /// Ends of all steps; at least one.
    pub(crate) ends: &'a [u64],
}

impl Steps for Edges<'_> {
    fn from(&self) -> u64 {
        self.from
    }

    fn to(&self) -> u64 {
        self.ends.last().copied().unwrap_or(self.from)
    }

    fn step_of(&self, at: u64) -> usize {
        self.ends.partition_point(|end| *end <= at).min(self.last())
    }

    fn end_of(&self, step: usize) -> u64 {
        self.ends.get(step).copied().unwrap_or(u64::MAX)
    }

    fn last(&self) -> usize {
        self.ends.len().saturating_sub(1)
    }
}

/// Whether counts before the first step belong to it, and counts after the last to that;
/// where the steps are a part of the recording only, they do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside {
    pub(crate) keeps_earlier: bool,
    pub(crate) keeps_later: bool,
}

/// An interval on an axis: shares any counts out over the steps that it touches.
///
/// With Q(t) = floor(c (t - a) / (b - a)), a step from t to u gets Q(u) - Q(t). So the
/// steps' counts add up to c exactly, however they are cut. An interval without length
/// puts all into the step that holds its moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    begin: u64,
    end: u64,
    /// The steps touched; none if it lies outside and that is dropped.
    steps: Option<(usize, usize)>,
    outside: Outside,
}

impl Spread {
    pub(crate) fn new<S: Steps>(axis: &S, begin: u64, end: u64, outside: Outside) -> Self {
        let end = end.max(begin);
        let is_earlier = end <= axis.from() && begin < axis.from();
        let is_out =
            (begin >= axis.to() && !outside.keeps_later) || (is_earlier && !outside.keeps_earlier);
        let steps = (!is_out).then(|| {
            let first = axis.step_of(begin);
            let last = axis.step_of(end.saturating_sub(1).max(begin));
            (first, last)
        });
        Self {
            begin,
            end,
            steps,
            outside,
        }
    }

    /// Whether it touches any step.
    pub(crate) const fn is_inside(&self) -> bool {
        self.steps.is_some()
    }

    /// The only step that it touches, if it lies within one: every count goes there.
    pub(crate) fn only<S: Steps>(&self, axis: &S) -> Option<usize> {
        let (first, last) = self.steps?;
        let is_inside = (self.begin >= axis.from() || self.outside.keeps_earlier)
            && (self.end <= axis.to() || self.outside.keeps_later);
        (first == last && is_inside).then_some(first)
    }

    /// Shares `count` out.
    pub(crate) fn share<S: Steps>(&self, axis: &S, count: u64, mut add: impl FnMut(usize, u64)) {
        let Some((first, last)) = self.steps else {
            return;
        };
        let mut done = match self.outside.keeps_earlier {
            true => 0,
            false => self.until(axis.from(), count),
        };
        let all = match self.outside.keeps_later {
            true => count,
            false => self.until(axis.to(), count),
        };
        for step in first..=last {
            let now = if step == last {
                all
            } else {
                self.until(axis.end_of(step), count)
            };
            if now > done {
                add(step, now - done);
                done = now;
            }
            if now >= all {
                break;
            }
        }
    }

    /// Q(t).
    fn until(&self, at: u64, count: u64) -> u64 {
        if at >= self.end {
            // What has no length is counted where it begins.
            return if at > self.begin { count } else { 0 };
        }
        if at <= self.begin {
            return 0;
        }
        let (past, length) = (at - self.begin, self.end - self.begin);
        match count.checked_mul(past) {
            Some(product) => product / length,
            None => (u128::from(count) * u128::from(past) / u128::from(length)) as u64,
        }
    }

    /// Time that the interval spends between the axis's ends.
    pub(crate) fn inside_ns<S: Steps>(&self, axis: &S) -> u64 {
        let from = match self.outside.keeps_earlier {
            true => self.begin,
            false => self.begin.max(axis.from()),
        };
        let to = match self.outside.keeps_later {
            true => self.end,
            false => self.end.min(axis.to()),
        };
        to.saturating_sub(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEPT: Outside = Outside {
        keeps_earlier: true,
        keeps_later: true,
    };
    const DROPPED: Outside = Outside {
        keeps_earlier: false,
        keeps_later: false,
    };

    fn grid(from: u64, width: u64, bins: usize) -> Grid {
        Grid { from, width, bins }
    }

    fn shared<S: Steps>(axis: &S, begin: u64, end: u64, count: u64, outside: Outside) -> Vec<u64> {
        let mut bins = vec![0; axis.last() + 1];
        let spread = Spread::new(axis, begin, end, outside);
        spread.share(axis, count, |step, n| bins[step] += n);
        if let Some(step) = spread.only(axis) {
            assert_eq!(bins[step], count);
        }
        bins
    }

    #[test]
    fn counts_are_shared_by_the_formula() {
        let axis = grid(100, 10, 4);
        assert_eq!(shared(&axis, 100, 140, 8, KEPT), [2, 2, 2, 2]);
        // floor(3 * 10 / 30) = 1 at each edge.
        assert_eq!(shared(&axis, 105, 135, 3, KEPT), [0, 1, 1, 1]);
        assert_eq!(shared(&axis, 110, 110, 7, KEPT), [0, 7, 0, 0]);
        assert_eq!(shared(&axis, 139, 140, 7, KEPT), [0, 0, 0, 7]);
    }

    #[test]
    fn what_lies_outside_is_kept_or_dropped() {
        let axis = grid(100, 10, 4);
        assert_eq!(shared(&axis, 0, 50, 5, KEPT), [5, 0, 0, 0]);
        assert_eq!(shared(&axis, 200, 300, 5, KEPT), [0, 0, 0, 5]);
        assert_eq!(shared(&axis, 90, 110, 10, KEPT), [10, 0, 0, 0]);
        assert_eq!(shared(&axis, 90, 110, 10, DROPPED), [5, 0, 0, 0]);
        assert_eq!(shared(&axis, 130, 150, 10, DROPPED), [0, 0, 0, 5]);
        assert_eq!(shared(&axis, 90, 100, 10, DROPPED), [0; 4]);
        assert_eq!(shared(&axis, 140, 140, 10, DROPPED), [0; 4]);
        assert_eq!(shared(&axis, 100, 100, 10, DROPPED), [10, 0, 0, 0]);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let axis = grid(u64::MAX - 40, 10, 4);
        let bins = shared(&axis, u64::MAX - 40, u64::MAX, u64::MAX, KEPT);
        assert_eq!(
            bins.iter()
                .fold(0u64, |sum, n| sum.checked_add(*n).unwrap()),
            u64::MAX
        );
        let axis = grid(0, u64::MAX / 2, 3);
        let bins = shared(&axis, 0, u64::MAX, u64::MAX, KEPT);
        assert_eq!(
            bins.iter()
                .fold(0u64, |sum, n| sum.checked_add(*n).unwrap()),
            u64::MAX
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_the_axis_is_cut(
            begin in 0..500u64, length in 0..500u64, count: u64,
            mut ends in prop::collection::vec(0..700u64, 1..20),
        ) {
            ends.sort_unstable();
            let axis = Edges { from: 0, ends: &ends };
            let bins = shared(&axis, begin, begin + length, count, KEPT);
            let sum: u128 = bins.iter().map(|n| u128::from(*n)).sum();
            prop_assert_eq!(sum, u128::from(count));
        }

        #[test]
        fn parts_add_up_to_the_whole(
            begin in 0..500u64, length in 0..500u64, count in 0..1_000_000u64, cut in 1..99u64,
        ) {
            // Two windows side by side see what one sees.
            let whole = shared(&grid(0, 10, 100), begin, begin + length, count, DROPPED);
            let left = grid(0, 10, cut as usize);
            let right = grid(cut * 10, 10, 100 - cut as usize);
            let mut parts = shared(&left, begin, begin + length, count, DROPPED);
            parts.extend(shared(&right, begin, begin + length, count, DROPPED));
            prop_assert_eq!(parts, whole);
        }
    }
}
