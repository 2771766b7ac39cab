//! Waiting for a condition: poll for a while, then sleep until somebody rings.
//!
//! A bell does not carry the condition. Whoever makes a condition true writes
//! it with `SeqCst` and then rings; whoever waits reads it with `SeqCst`. Then
//! either the ringer sees the sleeper registered, or the sleeper, which looks
//! once more after registering, sees the condition (all four accesses are in
//! the single total order of `SeqCst` operations). Ringing with nobody asleep
//! is one load.

use crate::primitive::{AtomicU32, Ordering, futex, spin_loop, waits_long, yield_now};

/// How to poll before sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpinPolicy(u32);

impl SpinPolicy {
    /// Marks a patience whose polls offer the processor.
    const CROWDED: u32 = 1 << 31;
    /// Polls done back to back before each poll is preceded by a pause: a
    /// hand-off between cores takes less time than a pause.
    const EAGER: u32 = 48;
    /// From here on, about forty microseconds, the processor is offered to others, each time after
    /// twice as many polls: the thread that is waited for may be one that other programs keep from
    /// running. Seldom, because the kernel takes each offer for the rest of a time slice, which
    /// programs of the least priority get, too.
    const POLLS_BEFORE_OFFERS: u32 = 2048;
    /// At this poll of every so many, behind the eager ones, a wait counts as one that lasts:
    /// again and again, since what it waits for may have let it do something else.
    const LASTS: u32 = Self::EAGER + 4;
    const LOOKS: u32 = 64;

    /// Polls `polls` times; for threads with a processor each.
    pub(crate) const fn polling(polls: u32) -> Self {
        Self(if polls < Self::CROWDED {
            polls
        } else {
            Self::CROWDED - 1
        })
    }

    /// Polls `polls` times and offers the processor each time: for more threads
    /// than processors, where the thread that is waited for may be next in
    /// line. To change threads so takes a quarter of the time of sleeping and
    /// being woken.
    pub(crate) const fn offering(polls: u32) -> Self {
        Self(Self::polling(polls).0 | Self::CROWDED)
    }

    /// As a number, for [`SpinPolicy::from_word`].
    pub(crate) const fn word(self) -> u32 {
        self.0
    }

    /// The patience that has this number.
    pub(crate) const fn from_word(word: u32) -> Self {
        Self(word)
    }

    /// Number of polls.
    pub(crate) const fn polls(self) -> u32 {
        self.0 & !Self::CROWDED
    }

    /// What to do after poll number `poll` has found nothing.
    #[inline]
    fn rest(self, poll: u32) {
        if self.0 & Self::CROWDED != 0
            || (poll >= Self::POLLS_BEFORE_OFFERS && poll.is_power_of_two())
        {
            waits_long();
            yield_now();
        } else if poll >= Self::EAGER {
            if poll % Self::LOOKS == Self::LASTS {
                waits_long();
            }
            spin_loop();
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct EventCount {
    sleepers: AtomicU32,
    rings: AtomicU32,
}

impl EventCount {
    pub(crate) fn new() -> Self {
        Self {
            sleepers: AtomicU32::new(0),
            rings: AtomicU32::new(0),
        }
    }

    /// Returns once `ready` says so. `ready` is called often and may do other
    /// useful work.
    #[inline]
    pub(crate) fn wait(&self, patience: SpinPolicy, mut ready: impl FnMut() -> bool) {
        for poll in 0..patience.polls() {
            if ready() {
                return;
            }
            patience.rest(poll);
        }
        self.sleep(&mut ready);
    }

    #[cold]
    fn sleep(&self, ready: &mut dyn FnMut() -> bool) {
        waits_long();
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
