//! The lock under all mutual exclusion of the interface.
//!
//! Four bytes: 0 free, 1 held, 2 held and somebody may sleep. Taking a free
//! lock is one compare-and-exchange, giving it back one exchange.
//!
//! A thread that finds the lock held looks again at growing distances: each
//! look takes the line away from the holder, which needs it to give the lock
//! back, and a thread that gives a lock back and takes it again at once is
//! fastest if nobody interferes. It sleeps when its patience ends; from then
//! on the lock wakes one sleeper whenever it is given back. A thread that is
//! woken has to compete like all others, so a lock that is given back is never
//! reserved for a thread that is not running (no convoys).

use crate::barrier::wait_recorded;
use crate::primitive::{AtomicU32, Ordering, futex, spin_loop};
use crate::worker::current;
use fathomp_trace::state::State;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Longest distance between two looks, in pauses.
const FARTHEST: u32 = 64;

/// Pauses, some tenths of a millisecond, after which even a thread that would
/// wait actively elsewhere sleeps: whoever holds a lock that long is probably
/// not running, perhaps because it waits for this very processor.
const PATIENCE_MAX: u32 = 1 << 14;

/// A lock. Zeroed memory is a free lock.
#[repr(transparent)]
#[derive(Debug)]
pub struct Lock(AtomicU32);

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

impl Lock {
    /// A free lock.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Makes it a free lock, whatever it was.
    pub fn reset(&self) {
        self.0.store(FREE, Ordering::Relaxed);
    }

    /// Takes it if it is free.
    #[inline]
    #[must_use]
    pub fn try_acquire(&self) -> bool {
        self.0
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes it; a wait is recorded as time in `state`.
    #[inline]
    pub fn acquire(&self, state: State) {
        if !self.try_acquire() {
            self.acquire_contended(state);
        }
    }

    #[cold]
    fn acquire_contended(&self, state: State) {
        let member = current();
        let patience = member.team().patience().0.min(PATIENCE_MAX);
        wait_recorded(member, state, || self.wait(patience));
    }

    /// Takes it after looking for about `patience` pauses before sleeping.
    fn wait(&self, patience: u32) {
        let mut distance = 1;
        let mut waited = 0;
        while waited < patience {
            for _ in 0..distance {
                spin_loop();
            }
            waited += distance;
            distance = (distance * 2).min(FARTHEST);
            if self.0.load(Ordering::Relaxed) == FREE && self.try_acquire() {
                return;
            }
        }
        // Whoever has slept cannot know whether it was the last sleeper.
        while self.0.swap(CONTENDED, Ordering::Acquire) != FREE {
            futex::wait(&self.0, CONTENDED);
        }
    }

    /// Gives it back. Giving back a free lock has no effect.
    #[inline]
    pub fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) == CONTENDED {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        futex::wake(&self.0, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn count_under(lock: &Lock, patience: u32, threads: usize) {
        const TIMES: u64 = 5_000;
        let count = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..TIMES {
                        if !lock.try_acquire() {
                            lock.wait(patience);
                        }
                        // Not an atomic addition: only the lock protects it.
                        let seen = count.load(Ordering::Relaxed);
                        count.store(seen + 1, Ordering::Relaxed);
                        lock.release();
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), TIMES * threads as u64);
        assert_eq!(lock.0.load(Ordering::Relaxed), FREE);
    }

    #[test]
    fn nobody_is_lost_or_let_in_twice() {
        for patience in [0, 1, 100, 100_000] {
            count_under(&Lock::new(), patience, 8);
        }
    }

    #[test]
    fn a_held_lock_is_not_taken_again() {
        let lock = Lock::new();
        assert!(lock.try_acquire());
        assert!(!lock.try_acquire());
        lock.release();
        lock.release();
        assert!(lock.try_acquire());
    }
}
