//! Counting what a task or taskgroup still waits for, mostly without atomic
//! read-modify-write operations.
//!
//! Children are begun by the thread that runs their parent, and most of them
//! end there too. So each tally has a home, the thread that runs its owner:
//! what happens there is counted with plain loads and stores, and only what
//! other threads contribute goes through an atomic word.
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

    /// One less to wait for; called elsewhere. `true` if the caller must
    /// recycle the owner.
    #[inline]
    #[must_use]
    pub(crate) fn end_elsewhere(&self) -> bool {
        // SeqCst: this may be the condition a sleeper waits for (see `bell`).
        self.elsewhere.fetch_sub(1, Ordering::SeqCst) == 1
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
        self.unfinished_at_home()
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

    #[inline]
    fn unfinished_at_home(&self) -> u32 {
        self.begun
            .load(Ordering::Relaxed)
            .wrapping_sub(self.ended.load(Ordering::Relaxed))
    }
}

#[inline]
fn bump(count: &AtomicU32) {
    count.store(
        count.load(Ordering::Relaxed).wrapping_add(1),
        Ordering::Relaxed,
    );
}
