//! Counting what a task or taskgroup still waits for, mostly without atomic
//! read-modify-write operations.
//!
//! Children are begun by the thread that runs their parent, and most of them
//! end there too. So each tally has a home, the thread that runs its owner:
//! what happens there is counted with plain loads and stores, and only what
//! other threads contribute goes through an atomic word.
//!
//! Before the owner's thread sleeps it settles: all that it counted goes over to
//! the word, whose lower half is then what is left to wait for.
//!
//! That word also says who recycles the owner's memory. It starts at [`ALIVE`].
//! Each end elsewhere takes 1 from it, each beginning elsewhere adds 1 (only
//! taskgroups have those), each descendant that must still find its way up
//! through the owner adds [`HOLD`]. When the owner's code is through, it
//! replaces `ALIVE` by the number of its children not yet known to have ended.
//! From then on the word falls to 0 exactly once, and whoever takes it there
//! recycles the owner. Before that it cannot be 0, because `ALIVE` is larger
//! than everything else together.

use super::primitive::{AtomicI64, AtomicU32, Ordering};

const HOLD: i64 = 1 << 32;
const ALIVE: i64 = 1 << 56;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Written at home only.
    begun: AtomicU32,
    /// Written at home only.
    ended: AtomicU32,
    elsewhere: AtomicI64,
}

/// What the end of something counted means to the thread that counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndElsewhere {
    /// It must recycle the owner.
    pub(crate) recycle: bool,
    /// The owner's thread may sleep for want of this.
    pub(crate) wake: bool,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            begun: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            elsewhere: AtomicI64::new(ALIVE),
        }
    }

    /// Starts anew; nobody else may know the owner.
    #[inline]
    pub(crate) fn reset(&self) {
        self.begun.store(0, Ordering::Relaxed);
        self.ended.store(0, Ordering::Relaxed);
        self.elsewhere.store(ALIVE, Ordering::Relaxed);
    }

    /// Whether all is as the last reset left it; called at home. Descendants may come by of which
    /// none was begun there, so the word counts, too.
    #[inline]
    pub(crate) fn is_as_new(&self) -> bool {
        !self.is_touched() && self.elsewhere.load(Ordering::Acquire) == ALIVE
    }

    /// Whether anything was begun at home since the last reset; called there.
    #[inline]
    pub(crate) fn is_touched(&self) -> bool {
        self.begun.load(Ordering::Relaxed) != 0
    }

    /// One more to wait for; called at home.
    #[inline]
    pub(crate) fn begin_at_home(&self) {
        bump(&self.begun);
    }

    /// One more to wait for; called elsewhere.
    #[inline]
    pub(crate) fn begin_elsewhere(&self) {
        self.elsewhere.fetch_add(1, Ordering::Relaxed);
    }

    /// One less to wait for; called at home.
    #[inline]
    pub(crate) fn end_at_home(&self) {
        bump(&self.ended);
    }

    /// One less to wait for; called elsewhere.
    #[inline]
    #[must_use]
    pub(crate) fn end_elsewhere(&self) -> EndElsewhere {
        // SeqCst: this may be the condition a sleeper waits for (see `bell`).
        let left = self.elsewhere.fetch_sub(1, Ordering::SeqCst) - 1;
        EndElsewhere {
            recycle: left == 0,
            wake: left as u32 == 0,
        }
    }

    /// What is unfinished at home goes over to the atomic word, so that the
    /// thread that takes the word's lower half to 0 knows that it must wake the
    /// owner's thread. Called at home, before it sleeps.
    pub(crate) fn settle(&self) {
        let unfinished = self.unfinished_at_home();
        if unfinished != 0 {
            self.ended
                .store(self.begun.load(Ordering::Relaxed), Ordering::Relaxed);
            self.elsewhere
                .fetch_add(i64::from(unfinished), Ordering::SeqCst);
        }
    }

    /// Whether anything is still to be waited for; called at home. All that
    /// was counted as ended happened before a `false`.
    #[inline]
    pub(crate) fn is_outstanding(&self) -> bool {
        self.outstanding() != 0
    }

    /// How much is still to be waited for; called at home.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        // The low half of the word; holds are in the high half.
        (self.unfinished_at_home() as u32)
            .wrapping_add(self.elsewhere.load(Ordering::SeqCst) as u32)
    }

    /// Whether [`Tally::close`] would leave the owner to somebody else; called
    /// at home.
    #[inline]
    pub(crate) fn is_in_use(&self) -> bool {
        i64::from(self.unfinished_at_home()) + self.elsewhere.load(Ordering::Acquire) != ALIVE
    }

    /// A descendant will come by later, although all that is counted may have
    /// ended by then. Called while the owner cannot be recycled.
    pub(crate) fn hold(&self) {
        self.elsewhere.fetch_add(HOLD, Ordering::Relaxed);
    }

    /// The descendant has come. `true` if the caller must recycle the owner.
    #[must_use]
    pub(crate) fn release(&self) -> bool {
        self.elsewhere.fetch_sub(HOLD, Ordering::AcqRel) == HOLD
    }

    /// The owner's code is through; called at home, which has no part in the
    /// tally afterwards. `true` if the caller must recycle the owner.
    #[must_use]
    pub(crate) fn close(&self) -> bool {
        let change = i64::from(self.unfinished_at_home()) - ALIVE;
        self.elsewhere.fetch_add(change, Ordering::AcqRel) + change == 0
    }

    /// Begun less ended at home; below 0 if what was begun there has been
    /// settled meanwhile.
    #[inline]
    fn unfinished_at_home(&self) -> i32 {
        let begun = self.begun.load(Ordering::Relaxed);
        begun.wrapping_sub(self.ended.load(Ordering::Relaxed)) as i32
    }
}

#[inline]
fn bump(count: &AtomicU32) {
    count.store(
        count.load(Ordering::Relaxed).wrapping_add(1),
        Ordering::Relaxed,
    );
}
