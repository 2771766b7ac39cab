//! Locks of the program in memory that all nodes share: one that is free is taken and
//! given back without a message to anybody.
//!
//! A lock that is wanted while somebody has it is taken over by the sequencer, whose
//! queue is fair; it gives it back here when nobody waits any more. Locks that find no
//! place here are the sequencer's for ever.

use fathomp_base::NodeId;
use fathomp_dsm::LockId;
use fathomp_sys::shared_memory::{Sections, SharedMemory};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Places, a power of two.
const PLACES: usize = 1 << 13;
/// Places in which a lock may be.
const TRIES: usize = 8;
/// Looks at a lock that another node has, before the sequencer is asked: a few
/// microseconds, in which an atomic operation ends.
const LOOKS: u32 = 100;

/// Nobody has the lock.
const FREE: u64 = 0;
/// The sequencer has taken it over.
const SEQUENCED: u64 = 1;
/// The sequencer has to hear when it is given back.
const WAITED: u64 = 2;

/// Locks by their numbers; a place belongs to one lock for ever.
#[derive(Debug)]
pub(crate) struct Locks(SharedMemory);

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Taken,
    /// Another node has it.
    Held,
    /// The sequencer knows.
    Sequenced,
}

fn held_by(node: NodeId) -> u64 {
    (u64::from(node.0) + 1) << 2
}

impl Locks {
    /// All free.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new() -> io::Result<Self> {
        let sections = Sections {
            halves: 0,
            words: 2 * PLACES,
            bytes: 0,
        };
        Ok(Self(SharedMemory::new(sections)?))
    }

    /// The word of a lock, if it has a place.
    fn word(&self, lock: LockId) -> Option<&AtomicU64> {
        // No address is so high that this is 0, which says that a place is empty.
        let name = lock.0.wrapping_add(2);
        // Fibonacci hashing: Knuth, The Art of Computer Programming 3, section 6.4.
        let hash = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let first = hash as usize % PLACES;
        let (names, words) = self.0.words().split_at_checked(PLACES)?;
        (first..first + TRIES).find_map(|place| {
            let place = place % PLACES;
            let owner = names.get(place)?;
            let now = match owner.load(Ordering::Acquire) {
                0 => {
                    let order = Ordering::AcqRel;
                    let put = owner.compare_exchange(0, name, order, Ordering::Acquire);
                    put.map_or_else(|now| now, |_| name)
                }
                now => now,
            };
            words.get(place).filter(|_| now == name && name != 0)
        })
    }

    /// Takes a lock if it is free, or soon will be and `waits` says so.
    pub(crate) fn take(&self, lock: LockId, me: NodeId, waits: bool) -> Attempt {
        let Some(word) = self.word(lock) else {
            return Attempt::Sequenced;
        };
        let looks = if waits { LOOKS } else { 1 };
        let mut now = FREE;
        for _ in 0..looks {
            let (success, failure) = (Ordering::SeqCst, Ordering::SeqCst);
            match word.compare_exchange(FREE, held_by(me), success, failure) {
                Ok(_) => return Attempt::Taken,
                Err(held) => now = held,
            }
            if now & (SEQUENCED | WAITED) != 0 || now == held_by(me) {
                break;
            }
            std::hint::spin_loop();
        }
        match now {
            SEQUENCED => Attempt::Sequenced,
            _ => Attempt::Held,
        }
    }

    /// Gives back what a node has taken. False if the sequencer has to be told.
    pub(crate) fn give(&self, lock: LockId, me: NodeId) -> bool {
        let (success, failure) = (Ordering::SeqCst, Ordering::Relaxed);
        self.word(lock).is_some_and(|word| {
            let given = word.compare_exchange(held_by(me), FREE, success, failure);
            given.is_ok()
        })
    }

    /// The sequencer takes a lock over. Who has it.
    pub(crate) fn claim(&self, lock: LockId) -> Option<NodeId> {
        let word = self.word(lock)?;
        let mut now = word.load(Ordering::SeqCst);
        loop {
            let next = if now == FREE { SEQUENCED } else { now | WAITED };
            if now == SEQUENCED {
                return None;
            }
            let order = Ordering::SeqCst;
            match word.compare_exchange_weak(now, next, order, order) {
                Ok(_) => break,
                Err(other) => now = other,
            }
        }
        let holder = (now >> 2).checked_sub(1)?;
        u16::try_from(holder).ok().map(NodeId)
    }

    /// Everybody may take a lock again.
    pub(crate) fn unclaim(&self, lock: LockId) {
        if let Some(word) = self.word(lock) {
            word.store(FREE, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(700);

    #[test]
    fn a_free_lock_needs_no_sequencer() {
        let locks = Locks::new().unwrap();
        for lock in [0, 0x7fff_ffff_1234, u64::MAX].map(LockId) {
            assert_eq!(locks.take(lock, B, true), Attempt::Taken);
            assert_eq!(locks.take(lock, A, true), Attempt::Held);
            assert!(!locks.give(lock, A));
            assert!(locks.give(lock, B));
            assert_eq!(locks.take(lock, A, false), Attempt::Taken);
        }
    }

    #[test]
    fn who_is_waited_for_tells_the_sequencer() {
        let (locks, lock) = (Locks::new().unwrap(), LockId(64));
        assert_eq!(locks.take(lock, B, true), Attempt::Taken);
        assert_eq!(locks.claim(lock), Some(B));
        assert!(!locks.give(lock, B));
        assert_eq!(locks.take(lock, A, true), Attempt::Held);
        locks.unclaim(lock);
        assert_eq!(locks.claim(lock), None);
        assert_eq!(locks.take(lock, A, true), Attempt::Sequenced);
        locks.unclaim(lock);
        assert_eq!(locks.take(lock, A, true), Attempt::Taken);
    }

    #[test]
    fn locks_without_a_place_are_the_sequencers() {
        let locks = Locks::new().unwrap();
        let taken = |lock: &u64| locks.take(LockId(lock * 8), A, true) == Attempt::Taken;
        let there = (0..2 * PLACES as u64).filter(taken).count();
        assert!(there > PLACES / 2 && there <= PLACES, "{there}");
        // Each of them is a lock of its own.
        let given = (0..2 * PLACES as u64).filter(|lock| locks.give(LockId(lock * 8), A));
        assert_eq!(given.count(), there);
    }
}
