//! Chunks of guided and trapezoidal schedules, by their numbers.

use std::ops::Range;

/// The chunks of a guided loop, in the order in which they are given out: each is an even
/// share of what those before it have left, so its number tells which units it has. Numbers
/// are asked for in increasing order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    total: u64,
    members: u64,
    least: u64,
    /// Number of the chunk that begins at `from`.
    number: u64,
    from: u64,
}

impl Shares {
    /// The chunks of `total` units for so many members, none but the last of fewer units
    /// than `least`.
    pub(super) fn new(total: u64, members: u64, least: u64) -> Self {
        Self {
            total,
            members: members.max(1),
            least: least.max(1),
            number: 0,
            from: 0,
        }
    }

    /// Units of the chunks that nobody has asked for here, nor for those after them.
    pub(super) fn left(&self) -> u64 {
        self.total - self.from
    }

    /// The units of the chunk of that number; `None` if there are not so many.
    pub(super) fn chunk(&mut self, number: u64) -> Option<Range<u64>> {
        while self.number < number && self.left() > 0 {
            self.pass();
        }
        (self.left() > 0).then(|| self.pass())
    }

    fn pass(&mut self) -> Range<u64> {
        let from = self.from;
        self.from += size(self.left(), self.members, self.least);
        self.number += 1;
        from..self.from
    }
}

/// Units of a chunk while `left` are left.
#[inline]
pub(super) fn size(left: u64, members: u64, least: u64) -> u64 {
    left.div_ceil(members).max(least).min(left)
}

/// The chunks of a trapezoidal loop (Tzen and Ni, 1993, section 3): the first is half of an even
/// share, and each has so many iterations less than the one before it that the last has the least
/// that is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trapezoid {
    count: u64,
    first: u64,
    fall: u64,
    chunks: u64,
}

impl Trapezoid {
    /// The chunks of `count` iterations for so many members, none but the last of fewer iterations
    /// than `least`.
    pub(super) fn new(count: u64, members: u64, least: u64) -> Self {
        let first = (count / 2 / members.max(1)).max(1);
        let least = least.clamp(1, first);
        let both = u128::from(first) + u128::from(least);
        let chunks = (2 * u128::from(count)).div_ceil(both).max(2) as u64;
        Self {
            count,
            first,
            fall: (first - least) / (chunks - 1),
            chunks,
        }
    }

    /// Chunks from that number on; perhaps some that are empty.
    pub(super) fn left(&self, number: u64) -> u64 {
        self.chunks.saturating_sub(number)
    }

    /// The iterations of the chunk of that number; `None` if all iterations come before it.
    pub(super) fn chunk(&self, number: u64) -> Option<Range<u64>> {
        let from = self.before(number);
        (from < self.count).then(|| from..self.before(number + 1))
    }

    /// Iterations of the chunks before that number.
    fn before(&self, number: u64) -> u64 {
        let number = u128::from(number.min(self.chunks));
        let falls = number * number.saturating_sub(1) / 2 * u128::from(self.fall);
        let all = number * u128::from(self.first) - falls;
        u64::try_from(all).unwrap_or(u64::MAX).min(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn trapezoidal_chunks_fall_and_cover_the_loop(
            count in prop_oneof![1_u64..3000, u64::MAX - 3000..=u64::MAX], members in 1_u64..9,
            least in 0_u64..50,
        ) {
            let chunks = Trapezoid::new(count, members, least);
            prop_assert!(chunks.left(0) <= 4 * members + 2 || count < 4 * members);
            let all: Vec<_> = (0..chunks.left(0)).map_while(|number| chunks.chunk(number)).collect();
            prop_assert_eq!(chunks.chunk(chunks.chunks), None);
            let (mut at, mut size) = (0, u64::MAX);
            for chunk in &all {
                prop_assert_eq!(chunk.start, at);
                prop_assert!(chunk.end - at <= size && chunk.end > at);
                (at, size) = (chunk.end, chunk.end - chunk.start);
            }
            prop_assert_eq!(at, count);
        }

        #[test]
        fn numbers_tell_the_units(
            total in 0_u64..3000, members in 1_u64..9, least in 1_u64..50, step in 1_u64..5,
        ) {
            let mut shares = Shares::new(total, members, least);
            let all: Vec<_> = (0..).map_while(|number| shares.chunk(number)).collect();
            let mut at = 0;
            for chunk in &all {
                prop_assert_eq!(chunk.start, at);
                prop_assert_eq!(chunk.end - at, size(total - at, members, least));
                at = chunk.end;
            }
            prop_assert_eq!(at, total);
            let mut some = Shares::new(total, members, least);
            for (number, chunk) in (0..).zip(&all).step_by(step as usize) {
                prop_assert_eq!(some.chunk(number), Some(chunk.clone()));
            }
            prop_assert_eq!(some.chunk(u64::MAX), None);
            prop_assert_eq!(some.left(), 0);
        }
    }
}
