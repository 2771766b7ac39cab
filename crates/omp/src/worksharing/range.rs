//! A member's own part of a dynamic loop, which others may take from.
//!
//! The owner takes units from the front with one uncontended addition; a
//! member without work takes the rear half. Units are numbered over the whole
//! loop, so a word that comes back to an earlier value means the same again
//! and no compare-and-exchange can be deceived; the tag tells loops apart.

use std::sync::atomic::{AtomicU64, Ordering};

const FIELD_BITS: u32 = 24;
const FIELD: u64 = (1 << FIELD_BITS) - 1;

/// Largest number of units of a loop: the front may pass the end by one.
pub(crate) const UNITS_MAX: u64 = FIELD - 1;

/// `tag << 48 | front << 24 | end`; empty if `front >= end`. On a line of its
/// own because others poll it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Range(AtomicU64);

impl Range {
    pub(crate) const fn empty() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Owner: these units, of the loop with this number, are mine.
    #[inline]
    pub(crate) fn install(&self, construct: u32, front: u64, end: u64) {
        debug_assert!(front <= end && end <= UNITS_MAX);
        self.0.store(word(construct, front, end), Ordering::Relaxed);
    }

    /// Owner: the next unit.
    #[inline]
    pub(crate) fn take(&self) -> Option<u64> {
        let (front, end) = fields(self.0.fetch_add(1 << FIELD_BITS, Ordering::Relaxed));
        (front < end).then_some(front)
    }

    /// Owner: nothing is left for others.
    #[inline]
    pub(crate) fn clear(&self) {
        if self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }

    /// Another member of the same loop: the rear half, at least one unit.
    pub(crate) fn steal(&self, construct: u32) -> Option<(u64, u64)> {
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let (front, end) = fields(seen);
            if front >= end || seen != word(construct, front, end) {
                return None;
            }
            let middle = front + (end - front) / 2;
            match self.0.compare_exchange_weak(
                seen,
                word(construct, front, middle),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some((middle, end)),
                Err(now) => seen = now,
            }
        }
    }
}

#[inline]
const fn word(construct: u32, front: u64, end: u64) -> u64 {
    (construct as u64) << (2 * FIELD_BITS) | front << FIELD_BITS | end
}

#[inline]
const fn fields(word: u64) -> (u64, u64) {
    (word >> FIELD_BITS & FIELD, word & FIELD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn an_exhausted_range_gives_nothing() {
        let range = Range::empty();
        range.install(3, UNITS_MAX - 1, UNITS_MAX);
        assert_eq!(range.take(), Some(UNITS_MAX - 1));
        assert_eq!(range.take(), None);
        assert_eq!(range.steal(3), None);
    }

    #[test]
    fn only_the_same_loop_is_stolen_from() {
        let range = Range::empty();
        range.install(3, 0, 10);
        assert_eq!(range.steal(4), None);
        assert_eq!(range.steal(3), Some((5, 10)));
        assert_eq!(range.steal(3), Some((2, 5)));
        range.clear();
        assert_eq!(range.steal(3), None);
    }

    #[test]
    fn owner_and_thieves_get_each_unit_once() {
        const UNITS: u64 = 20_000;
        let range = Range::empty();
        let done: Vec<AtomicU32> = (0..UNITS).map(|_| AtomicU32::new(0)).collect();
        range.install(9, 0, UNITS);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some((from, to)) = range.steal(9) {
                        for unit in from..to {
                            done[unit as usize].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            while let Some(unit) = range.take() {
                done[unit as usize].fetch_add(1, Ordering::Relaxed);
            }
        });
        assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
    }
}
