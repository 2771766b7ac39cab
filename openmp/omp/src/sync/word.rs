//! The protocol of a lock in one futex word.
//!
//! 0 free, 1 held, 2 held and somebody may sleep. Taking a free lock is one
//! compare-and-exchange, giving it back one exchange.
//!
//! A thread that finds the lock held looks again at growing distances: each
//! look takes the line away from the holder, which needs it to give the lock
//! back, and a thread that gives a lock back and takes it again at once is
//! fastest if nobody interferes. It sleeps when its patience ends; from then
//! on the lock wakes one sleeper whenever it is given back. A thread that is
//! woken has to compete like all others, so a lock that is given back is never
//! reserved for a thread that is not running (no convoys).

use crate::primitive::{AtomicU32, Ordering, futex, spin_loop, waits_long, yield_now};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Longest distance between two looks, in pauses.
const FARTHEST: u32 = 64;

/// Pauses after which each look is preceded by an offer of the processor
/// instead: the holder may need it. Where it does not, the offer is as good a
/// way to pass the time.
const PAUSES_BEFORE_OFFERS: u32 = 256;

/// Pauses after which a wait counts as one that lasts.
const LASTS: u32 = 8;

/// See the module's documentation. Zeroed memory is a free lock.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Word(AtomicU32);

impl Word {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    pub(crate) fn reset(&self) {
        self.0.store(FREE, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn try_acquire(&self) -> bool {
        self.0
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes it after looking for about `patience` pauses before sleeping.
    pub(crate) fn wait(&self, patience: u32) {
        let mut distance = 1;
        let mut waited = 0;
        while waited < patience {
            if waited >= LASTS {
                waits_long();
            }
            if waited < PAUSES_BEFORE_OFFERS {
                for _ in 0..distance {
                    spin_loop();
                }
            } else {
                yield_now();
            }
            waited += distance;
            distance = (distance * 2).min(FARTHEST);
            if self.0.load(Ordering::Relaxed) == FREE && self.try_acquire() {
                return;
            }
        }
        waits_long();
        // Whoever has slept cannot know whether it was the last sleeper.
        while self.0.swap(CONTENDED, Ordering::Acquire) != FREE {
            futex::wait(&self.0, CONTENDED);
        }
    }

    #[inline]
    pub(crate) fn release(&self) {
        if self.0.swap(FREE, Ordering::Release) == CONTENDED {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        futex::wake(&self.0, 1);
    }
}
