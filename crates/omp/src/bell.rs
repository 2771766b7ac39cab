//! Waiting for a condition: poll for a while, then sleep until somebody rings.
//!
//! A bell does not carry the condition. Whoever makes a condition true writes
//! it with `SeqCst` and then rings; whoever waits reads it with `SeqCst`. Then
//! either the ringer sees the sleeper registered, or the sleeper, which looks
//! once more after registering, sees the condition (all four accesses are in
//! the single total order of `SeqCst` operations). Ringing with nobody asleep
//! is one load.

use crate::primitive::{AtomicU32, Ordering, futex, spin_loop, yield_now};

/// How often to poll before sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience(pub(crate) u32);

impl Patience {
    /// Polls done back to back before each poll is preceded by a pause: a
    /// hand-off between cores takes less time than a pause.
    const EAGER: u32 = 48;
    /// From here on, some tens of microseconds, the processor is offered to
    /// others every [`Patience::OFFER`] polls: the thread that is waited for may
    /// be one that other programs keep from running.
    const LONG: u32 = 2048;
    const OFFER: u32 = 32;
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Bell {
    sleepers: AtomicU32,
    rings: AtomicU32,
}

impl Bell {
    pub(crate) fn new() -> Self {
        Self {
            sleepers: AtomicU32::new(0),
            rings: AtomicU32::new(0),
        }
    }

    /// Returns once `ready` says so. `ready` is called often and may do other
    /// useful work.
    #[inline]
    pub(crate) fn wait(&self, patience: Patience, mut ready: impl FnMut() -> bool) {
        for poll in 0..patience.0 {
            if ready() {
                return;
            }
            if poll >= Patience::LONG && poll.is_multiple_of(Patience::OFFER) {
                yield_now();
            } else if poll >= Patience::EAGER {
                spin_loop();
            }
        }
        self.sleep(&mut ready);
    }

    #[cold]
    fn sleep(&self, ready: &mut dyn FnMut() -> bool) {
        loop {
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            let rings = self.rings.load(Ordering::SeqCst);
            let done = ready();
            if !done {
                futex::wait(&self.rings, rings);
            }
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
            if done || ready() {
                return;
            }
        }
    }

    /// How many are asleep, or about to be.
    #[inline]
    pub(crate) fn sleepers(&self) -> u32 {
        self.sleepers.load(Ordering::SeqCst)
    }

    /// Wakes everybody asleep. The condition must have been written before,
    /// with `SeqCst`.
    #[inline]
    pub(crate) fn ring(&self) {
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.rings.fetch_add(1, Ordering::SeqCst);
            futex::wake_all(&self.rings);
        }
    }

    /// Wakes one sleeper: for conditions that only one waiter can use.
    #[inline]
    pub(crate) fn ring_one(&self) {
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.rings.fetch_add(1, Ordering::SeqCst);
            futex::wake(&self.rings, 1);
        }
    }
}
