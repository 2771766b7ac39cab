//! How much time looking at regions may take.

use std::sync::atomic::{AtomicU64, Ordering};

/// May be spent before the time so far allows it: a millisecond or less.
const FIRST_TICKS: u64 = 2_000_000;

/// Time spent on something, against the time so far.
#[derive(Debug)]
pub(super) struct Budget {
    begun: u64,
    spent: AtomicU64,
}

impl Budget {
    /// From now on.
    pub(super) fn new(now: u64) -> Self {
        Self {
            begun: now,
            spent: AtomicU64::new(0),
        }
    }

    /// Ticks that may still be spent if one in `part` may be.
    pub(super) fn left(&self, now: u64, part: u64) -> u64 {
        let allowed = FIRST_TICKS + now.saturating_sub(self.begun) / part;
        allowed.saturating_sub(self.spent.load(Ordering::Relaxed))
    }

    pub(super) fn spend(&self, ticks: u64) {
        self.spent.fetch_add(ticks, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_grows_back_with_time() {
        let budget = Budget::new(1000);
        assert_eq!(budget.left(1000, 100), FIRST_TICKS);
        budget.spend(FIRST_TICKS + 10);
        assert_eq!(budget.left(1000, 100), 0);
        assert_eq!(budget.left(1000 + 2000, 100), 10);
        assert_eq!(budget.left(0, 100), 0);
    }
}
