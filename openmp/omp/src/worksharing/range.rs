//! A member's own part of a dynamic loop, which others may take from.
//!
//! The owner takes units from the front with one uncontended addition; a
//! member without work takes the rear half. Units are numbered over the whole
//! loop, so a word that comes back to an earlier value means the same again
//! and no compare-and-exchange can be deceived; the tag tells loops apart.

use super::primitive::{AtomicU64, Ordering};

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
