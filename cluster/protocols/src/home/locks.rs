//! Locks that stay at a node whose threads take them again and again: neither taking such a lock
//! nor giving it back takes a message, and what is written under it is not told.
//!
//! To the sequencer the node has the lock for longer. Whoever wants it has the sequencer recall
//! it: then the open interval ends and the lock is given back, at once if no thread has it. All
//! that was written under it is known to the next holder, as if a thread had given it back then.

use super::{Actions, Home};
use crate::heuristics::Event;
use crate::{Body, LockId};

impl<B: Clone + Body> Home<B> {
    /// Whether locks can stay here.
    pub(super) fn keeps_locks(&self) -> bool {
        let tells = self.config.loads_acquire || self.watches_all;
        self.config.keeps_locks && !tells
    }

    /// A thread takes a lock, if it is kept here.
    pub(super) fn take_kept(&mut self, lock: LockId) -> bool {
        self.locks.kept.remove(&lock)
    }

    /// A thread gives a lock back. True if it is kept here.
    pub(super) fn keep_lock(&mut self, lock: LockId) -> bool {
        // Right before a barrier others may be waiting for what was written, to come there.
        let may = self.keeps_locks()
            && lock != LockId::ATOMICS
            && !self.order.comes_to_barrier()
            && self.written.is_none();
        // Asked also if others want it: it was taken once more.
        let wants = may && self.predictor().0.keeps_lock(lock);
        let keeps = wants && !self.locks.recalled.contains(&lock);
        match keeps {
            true => self.locks.kept.insert(lock),
            false => self.locks.recalled.remove(&lock),
        };
        keeps
    }

    /// Another node wants a lock that this node has, as far as the sequencer knows.
    pub(super) fn lock_recalled(&mut self, lock: LockId, actions: &mut Actions<B>) {
        if !self.keeps_locks() {
            // A thread has it, and gives it back.
            return;
        }
        self.note(Event::LockWanted(lock));
        match self.locks.kept.remove(&lock) {
            true => self.give_back_lock(lock, actions),
            // A thread has it, or is about to have it; or it is on its way back.
            false => drop(self.locks.recalled.insert(lock)),
        }
    }
}
