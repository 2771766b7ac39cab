//! Locks that a node takes again and again while no other node wants them: it keeps them.

use crate::LockId;
use std::collections::BTreeMap;

/// How often a lock is taken here before it is kept, at most.
const AFTER_MAX: u8 = 32;
/// A lock that was taken so often more than it had to be before it was kept was worth it. To
/// recall one takes two messages more than to take one that is free, and the node that keeps it
/// has to be woken for that.
const WORTH: u8 = 4;
/// Of so many times that a lock that is kept is given back, one is in earnest: what was written
/// becomes visible also to those that flush and never take it.
const IN_EARNEST: u8 = 63;
/// Locks that are remembered; with more, all are forgotten.
const MOST: usize = 1 << 16;

/// What happened to each lock.
#[derive(Clone, Debug)]
pub(super) struct LockHistory {
    /// How often a lock is taken before it is kept, at first.
    after: u8,
    locks: BTreeMap<LockId, History>,
}

#[derive(Clone, Copy, Debug)]
struct History {
    /// How often it was given back here since another node wanted it.
    taken: u8,
    after: u8,
}

impl LockHistory {
    pub(super) fn new(after: u8) -> Self {
        Self {
            after,
            locks: BTreeMap::new(),
        }
    }

    /// A thread gives a lock back. Whether its node is to keep it.
    pub(super) fn given_back(&mut self, lock: LockId) -> bool {
        if self.after == 0 {
            return false;
        }
        if self.locks.len() >= MOST {
            self.locks.clear();
        }
        let (taken, after) = (0, self.after);
        let history = self.locks.entry(lock).or_insert(History { taken, after });
        history.taken += 1;
        if history.taken >= IN_EARNEST + history.after {
            history.taken = history.after;
            return false;
        }
        history.taken >= history.after
    }

    /// Another node wants it.
    pub(super) fn wanted(&mut self, lock: LockId) {
        if let Some(history) = self.locks.get_mut(&lock) {
            let was_worth_it = history.taken >= history.after + WORTH;
            history.after = match was_worth_it {
                true => history.after / 2,
                false => history.after.saturating_mul(2),
            };
            history.after = history.after.max(self.after).min(AFTER_MAX);
            history.taken = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: LockId = LockId(7);

    fn taken_before_it_is_kept(locks: &mut LockHistory) -> u32 {
        (1..).find(|_| locks.given_back(LOCK)).unwrap_or(0)
    }

    #[test]
    fn what_is_recalled_soon_is_kept_later() {
        let mut locks = LockHistory::new(2);
        assert_eq!(taken_before_it_is_kept(&mut locks), 2);
        locks.wanted(LOCK);
        assert_eq!(taken_before_it_is_kept(&mut locks), 4);
        (0..WORTH).for_each(|_| assert!(locks.given_back(LOCK)));
        locks.wanted(LOCK);
        assert_eq!(taken_before_it_is_kept(&mut locks), 2);
    }

    #[test]
    fn now_and_then_one_is_given_back() {
        let mut locks = LockHistory::new(2);
        let given = (0..630).filter(|_| !locks.given_back(LOCK)).count();
        assert_eq!(given, 1 + 9);
    }
}
