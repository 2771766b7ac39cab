//! Loop arithmetic: a loop's iterations, numbered from 0.
//!
//! Everything is computed in `u64` with wrapping, so that signed and unsigned
//! loops, up to the limits of their types, share one code path: the bit
//! patterns of `start + k * step` are the same in both.

/// The iterations of one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iterations {
    start: u64,
    step: u64,
    end: u64,
    count: u64,
}

impl Iterations {
    /// `for (i = start; i < end; i += step)`, or `>` if `step` is negative.
    /// A step of 0 never ends and is not OpenMP; it counts as an empty loop.
    #[inline]
    #[must_use]
    pub const fn signed(start: i64, end: i64, step: i64) -> Self {
        let distance = if step > 0 {
            if start < end {
                (end as u64).wrapping_sub(start as u64)
            } else {
                0
            }
        } else if start > end {
            (start as u64).wrapping_sub(end as u64)
        } else {
            0
        };
        Self::new(start as u64, end as u64, step as u64, distance, {
            step.unsigned_abs()
        })
    }

    /// The same for `unsigned long long`. With `up` false the loop counts
    /// down and `step` is the two's complement of the decrement.
    #[inline]
    #[must_use]
    pub const fn unsigned(up: bool, start: u64, end: u64, step: u64) -> Self {
        let distance = if up {
            end.saturating_sub(start)
        } else {
            start.saturating_sub(end)
        };
        let stride = if up { step } else { step.wrapping_neg() };
        Self::new(start, end, step, distance, stride)
    }

    /// `for (i = first; i <= last; i += step)`, or `>=` if `step` is negative; so written, a
    /// loop may run over all values of its type. Bounds of this loop end one step after the
    /// iteration that they end with, the last one included.
    #[inline]
    #[must_use]
    pub const fn up_to(first: i64, last: i64, step: i64) -> Self {
        let runs = if step > 0 {
            first <= last
        } else {
            first >= last
        };
        Self::to_last(runs, first as u64, last as u64, step)
    }

    /// The same for unsigned bounds.
    #[inline]
    #[must_use]
    pub const fn up_to_unsigned(first: u64, last: u64, step: i64) -> Self {
        let runs = if step > 0 {
            first <= last
        } else {
            first >= last
        };
        Self::to_last(runs, first, last, step)
    }

    #[inline]
    const fn to_last(runs: bool, first: u64, last: u64, step: i64) -> Self {
        let distance = if step > 0 {
            last.wrapping_sub(first)
        } else {
            first.wrapping_sub(last)
        };
        let count = match distance.checked_div(step.unsigned_abs()) {
            Some(full) if runs => full.saturating_add(1),
            _ => 0,
        };
        let step = step as u64;
        Self {
            start: first,
            step,
            end: first.wrapping_add(count.wrapping_mul(step)),
            count,
        }
    }

    /// `count` iterations from 0 in steps of 1.
    #[inline]
    #[must_use]
    pub const fn counted(count: u64) -> Self {
        Self {
            start: 0,
            step: 1,
            end: count,
            count,
        }
    }

    #[inline]
    const fn new(start: u64, end: u64, step: u64, distance: u64, stride: u64) -> Self {
        let count = if distance == 0 || stride == 1 {
            distance
        } else {
            match (distance - 1).checked_div(stride) {
                // At most 2^64 / 2, as the stride is 2 or more here.
                Some(full) => full + 1,
                None => 0,
            }
        };
        Self {
            start,
            step,
            end,
            count,
        }
    }

    /// Number of iterations.
    #[inline]
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// What lies between two iterations.
    #[inline]
    pub(super) const fn step(&self) -> u64 {
        self.step
    }

    /// Where the loop ends.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Loop bounds that run the iterations from number `from` to before `to`;
    /// `to` is at most [`Iterations::count`]. The bound after the last
    /// iteration is the loop's own end, because a step past it may overflow.
    #[inline]
    #[must_use]
    pub const fn bounds(&self, from: u64, to: u64) -> (u64, u64) {
        let first = self.start.wrapping_add(from.wrapping_mul(self.step));
        let end = if to == self.count {
            self.end
        } else {
            self.start.wrapping_add(to.wrapping_mul(self.step))
        };
        (first, end)
    }

    /// The numbers of the iterations between two [bounds](Self::bounds).
    pub(crate) const fn numbers(&self, (first, end): (u64, u64)) -> (u64, u64) {
        let from = self.number(first);
        let to = if end == self.end {
            self.count
        } else {
            self.number(end)
        };
        (from, to)
    }

    const fn number(&self, value: u64) -> u64 {
        let stride = match self.step.cast_signed().unsigned_abs() {
            0 => return 0,
            stride => stride,
        };
        if self.step.cast_signed() < 0 {
            self.start.wrapping_sub(value) / stride
        } else {
            value.wrapping_sub(self.start) / stride
        }
    }

    pub(super) const fn to_words(self) -> [u64; 4] {
        [self.start, self.step, self.end, self.count]
    }

    pub(super) const fn from_words([start, step, end, count]: [u64; 4]) -> Self {
        Self {
            start,
            step,
            end,
            count,
        }
    }
}

/// Member `who`'s part when `count` iterations are divided into `size` parts
/// that differ by at most one; the larger ones come first.
#[inline]
pub(crate) const fn share(count: u64, who: u64, size: u64) -> (u64, u64) {
    let each = count / size;
    let larger = count % size;
    let first = each * who + if who < larger { who } else { larger };
    (first, first + each + (who < larger) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The values of the loop variable, in `i128` so that nothing overflows.
    fn naive(start: i128, end: i128, step: i128) -> Vec<i128> {
        let mut values = Vec::new();
        let mut i = start;
        while if step > 0 { i < end } else { i > end } {
            values.push(i);
            i += step;
        }
        values
    }

    /// The values a compiled loop over these bounds would run.
    fn run(start: i128, end: i128, step: i128) -> Vec<i128> {
        naive(start, end, step)
    }

    /// Signed bounds near zero and near both limits of the type.
    fn near_anything() -> impl Strategy<Value = i64> {
        prop_oneof![
            -200i64..200,
            (0i64..200).prop_map(|d| i64::MAX - d),
            (0i64..200).prop_map(|d| i64::MIN + d),
        ]
    }

    proptest! {
        #[test]
        fn signed_loops_run_what_the_source_says(
            start in near_anything(), length in -200i64..200, step in 1i64..50, down: bool, cut in 0u64..400,
        ) {
            let end = start.saturating_add(length);
            let step = if down { -step } else { step };
            let expected = naive(start.into(), end.into(), step.into());
            let loop_ = Iterations::signed(start, end, step);
            prop_assert_eq!(loop_.count(), expected.len() as u64);
            let cut = cut.min(loop_.count());
            let mut got = Vec::new();
            for (from, to) in [(0, cut), (cut, loop_.count())] {
                if from < to {
                    let (first, end) = loop_.bounds(from, to);
                    got.extend(run((first as i64).into(), (end as i64).into(), step.into()));
                }
            }
            prop_assert_eq!(got, expected);
        }

        #[test]
        fn unsigned_loops_run_what_the_source_says(
            start in near_anything(), length in -200i64..200, step in 1u64..50, up: bool, cut in 0u64..400,
        ) {
            let start = start as u64;
            let end = start.saturating_add_signed(length);
            let signed_step = if up { i128::from(step) } else { -i128::from(step) };
            let expected = naive(start.into(), end.into(), signed_step);
            let loop_ = Iterations::unsigned(up, start, end, if up { step } else { step.wrapping_neg() });
            prop_assert_eq!(loop_.count(), expected.len() as u64);
            let cut = cut.min(loop_.count());
            let mut got = Vec::new();
            for (from, to) in [(0, cut), (cut, loop_.count())] {
                if from < to {
                    let (first, end) = loop_.bounds(from, to);
                    got.extend(run(first.into(), end.into(), signed_step));
                }
            }
            prop_assert_eq!(got, expected);
        }

        #[test]
        fn shares_cover_everything_once(count: u64, size in 1u64..300) {
            let mut next = 0;
            for who in 0..size {
                let (first, end) = share(count, who, size);
                prop_assert_eq!(first, next);
                prop_assert!(end - first >= count / size && end - first <= count / size + 1);
                next = end;
            }
            prop_assert_eq!(next, count);
        }
    }

    #[test]
    fn whole_range_of_a_type_can_be_counted() {
        assert_eq!(Iterations::signed(i64::MIN, i64::MAX, 1).count(), u64::MAX);
        assert_eq!(Iterations::signed(i64::MAX, i64::MIN, i64::MIN).count(), 2);
        assert_eq!(Iterations::unsigned(true, 0, u64::MAX, 1).count(), u64::MAX);
        assert_eq!(
            Iterations::unsigned(false, u64::MAX, 0, 1u64.wrapping_neg()).count(),
            u64::MAX
        );
    }

    #[test]
    fn loops_up_to_a_value_include_it() {
        let down = Iterations::up_to(10, -2, -4);
        assert_eq!(
            (down.count(), down.bounds(3, 4)),
            (4, (-2_i64 as u64, -6_i64 as u64))
        );
        assert_eq!(Iterations::up_to(5, 4, 1).count(), 0);
        assert_eq!(Iterations::up_to(i64::MIN, i64::MAX, 1).count(), u64::MAX);
        let top = Iterations::up_to_unsigned(u64::MAX - 1, u64::MAX, 1);
        assert_eq!((top.count(), top.bounds(1, 2)), (2, (u64::MAX, 0)));
        assert_eq!(Iterations::up_to(0, 9, 0).count(), 0);
    }

    #[test]
    fn a_step_of_zero_is_an_empty_loop() {
        assert_eq!(Iterations::signed(0, 10, 0).count(), 0);
        assert_eq!(Iterations::unsigned(true, 0, 10, 0).count(), 0);
    }
}
