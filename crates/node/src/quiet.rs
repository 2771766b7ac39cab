//! When a node's threads have not synchronised for a while.
//!
//! A thread that waits for a plain variable never enters the runtime, and a copy
//! of the variable's page stays valid as long as nobody flushes. So the service
//! thread flushes now and then. That makes pages that are being written trap
//! again, so it does it more and more rarely while nothing else happens.

use std::time::{Duration, Instant};

/// Time without an operation until the first flush, and longest time between
/// two.
const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);

/// Watches a count of operations.
#[derive(Debug)]
pub(crate) struct Quiet {
    activity: u64,
    since: Instant,
    patience: Duration,
}

impl Quiet {
    pub(crate) fn new() -> Self {
        Self {
            activity: 0,
            since: Instant::now(),
            patience: FIRST,
        }
    }

    /// How long to sleep before the next look.
    pub(crate) fn rest(&self) -> Duration {
        self.patience
            .saturating_sub(self.since.elapsed())
            .max(FIRST / 4)
    }

    /// Looks at the count: whether it is time to flush.
    pub(crate) fn lasts(&mut self, activity: u64) -> bool {
        if activity != self.activity {
            *self = Self {
                activity,
                ..Self::new()
            };
            return false;
        }
        let lasts = self.since.elapsed() >= self.patience;
        if lasts {
            self.since = Instant::now();
            self.patience = (self.patience * 2).min(LONGEST);
        }
        lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_is_not_quiet() {
        let mut quiet = Quiet::new();
        quiet.since -= LONGEST;
        assert!(!quiet.lasts(1));
        quiet.since -= LONGEST;
        assert!(quiet.lasts(1));
        assert_eq!(quiet.patience, 2 * FIRST);
    }
}
