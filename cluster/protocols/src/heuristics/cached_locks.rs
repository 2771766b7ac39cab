//! Locks that a node takes again and again while no other node wants them: it keeps them.

use crate::LockId;
use std::collections::BTreeMap;

/// Every so many releases of a lock that is kept is a real one: what was written becomes visible
/// also to threads that flush and never take it.
const REAL_RELEASE_EVERY: u8 = 63;

/// Locks that are remembered; with more, all are forgotten.
const LOCKS_MAX: usize = 1 << 16;

/// How often each lock was given back here since another node wanted it.
#[derive(Clone, Debug)]
pub(super) struct LockHistory {
    /// How often a lock is given back before it is kept; 0: it never is.
    after: u8,
    releases: BTreeMap<LockId, u8>,
}

impl LockHistory {
    pub(super) fn new(after: u8) -> Self {
        Self {
            after,
            releases: BTreeMap::new(),
        }
    }

    /// A thread gives a lock back. Whether its node is to keep it.
    pub(super) fn given_back(&mut self, lock: LockId) -> bool {
        if self.after == 0 {
            return false;
        }
        if self.releases.len() >= LOCKS_MAX {
            self.releases.clear();
        }
        let releases = self.releases.entry(lock).or_default();
        *releases = releases.saturating_add(1);
        if *releases >= self.after.saturating_add(REAL_RELEASE_EVERY) {
            *releases = self.after;
            return false;
        }
        *releases >= self.after
    }

    /// Another node wants it.
    pub(super) fn wanted(&mut self, lock: LockId) {
        self.releases.remove(&lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: LockId = LockId(7);

    #[test]
    fn a_lock_is_kept_until_another_node_wants_it() {
        let mut locks = LockHistory::new(2);
        for _ in 0..3 {
            let kept = [(); 4].map(|()| locks.given_back(LOCK));
            assert_eq!(kept, [false, true, true, true]);
            locks.wanted(LOCK);
        }
        assert!(!LockHistory::new(0).given_back(LOCK));
    }

    #[test]
    fn now_and_then_one_is_given_back() {
        let mut locks = LockHistory::new(2);
        let given = (0..630).filter(|_| !locks.given_back(LOCK)).count();
        assert_eq!(given, 1 + 9);
    }
}
