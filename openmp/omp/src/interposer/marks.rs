//! What of a team's present region is marked, and how often it may be.

use fathomp_sys::clock::now;
use fathomp_types::Ticks;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Ticks between two marks of a team on the average at least: some tens of microseconds on the
/// machines of today, so that marks take less than a hundredth of the time.
const APART: u64 = 100_000;

/// So many may follow each other at once where there were fewer before: a region's begin
/// comes right behind the end of the one before.
const AT_ONCE: u64 = 32;

/// What of a team's present region is marked. OwnLine from what members read all the time.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Marks {
    /// When the marks until now would be over if they had kept their distance, in ticks.
    paid: AtomicU64,
    /// Its begin and end are.
    pub(crate) region: AtomicBool,
    /// The barrier with that phase behind it is.
    pub(crate) barrier: AtomicU32,
    /// There was one.
    pub(crate) any: AtomicBool,
}

impl Marks {
    pub(crate) const fn new() -> Self {
        Self {
            paid: AtomicU64::new(0),
            region: AtomicBool::new(false),
            barrier: AtomicU32::new(0),
            any: AtomicBool::new(false),
        }
    }

    /// Whether there may be another mark now.
    pub(crate) fn is_due(&self) -> bool {
        let (is_due, paid) = pay(self.paid.load(Ordering::Relaxed), now());
        if is_due {
            self.paid.store(paid, Ordering::Relaxed);
        }
        is_due
    }
}

/// Whether another mark keeps its distance on the average, and until when it is paid for then.
fn pay(paid: u64, at: Ticks) -> (bool, u64) {
    let next = paid.max(at.0.saturating_sub(AT_ONCE * APART)) + APART;
    match next <= at.0 {
        true => (true, next),
        false => (false, paid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_keep_their_distance_on_the_average() {
        let (mut paid, mut marked) = (0, 0);
        let start = 1_000_000_000;
        for step in 0..10_000 {
            let (is_due, next) = pay(paid, Ticks(start + step * APART / 10));
            marked += u64::from(is_due);
            paid = next;
        }
        assert!((1000..=1000 + AT_ONCE).contains(&marked), "{marked}");
        let at_once = (0..100)
            .filter(|_| {
                let (is_due, next) = pay(paid, Ticks(2 * start));
                paid = next;
                is_due
            })
            .count();
        assert_eq!(at_once as u64, AT_ONCE);
    }

    #[test]
    fn rare_barriers_are_all_marked() {
        let mut paid = 0;
        for step in 0..100 {
            let (is_due, next) = pay(paid, Ticks(1_000_000_000 + step * 2 * APART));
            assert!(is_due);
            paid = next;
        }
    }
}
