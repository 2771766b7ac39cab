//! How a thread updates a byte: by one atomic instruction, which its page's home does where that
//! is carried there, and otherwise in a copy, under a lock.

use fathomp_protocols::{LockId, Operation, Protocol};
use fathomp_types::PageId;

/// The lock of threads that update copies.
const UPDATES: LockId = LockId::ATOMICS;

/// How far a thread is with an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Update {
    /// It has yet to begin.
    #[default]
    Begins,
    /// It has flushed.
    Flushed,
    /// It was carried home, and what was there is known.
    Carried,
    /// It has the lock, and works on its node's copy.
    Alone,
    /// That is done.
    Done,
    /// All is known that the copy showed.
    Known,
    /// It is done, and what is news is known.
    Learned,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It asks for an operation.
    Operation(Operation),
    /// It has the update carried home.
    Carries,
    /// It updates the byte in the copy here, perhaps after a fault. The stage is reached then.
    UpdatesCopy,
    /// It goes on at once.
    GoesOn,
    /// It has ended.
    Ends,
}

impl Update {
    /// The next stage, and what is to be done for it. A thread `flushes` now and then: others do
    /// not see otherwise what was written right before a barrier.
    #[must_use]
    pub fn next<B>(self, protocol: &impl Protocol<B>, page: PageId, flushes: bool) -> (Self, Next) {
        let carries = protocol.forwards_atomics(page);
        let shows_unknown = protocol.may_expose_unseen_writes(page);
        let learn = Next::Operation(Operation::Learn(page));
        match self {
            Self::Begins if flushes => (Self::Flushed, Next::Operation(Operation::Flush)),
            Self::Begins | Self::Flushed if carries => (Self::Carried, Next::Carries),
            Self::Begins | Self::Flushed => {
                (Self::Alone, Next::Operation(Operation::Acquire(UPDATES)))
            }
            Self::Carried if shows_unknown => (Self::Learned, learn),
            Self::Carried => (Self::Learned, Next::GoesOn),
            Self::Alone => (Self::Done, Next::UpdatesCopy),
            Self::Done if shows_unknown => (Self::Known, learn),
            Self::Done | Self::Known => {
                (Self::Learned, Next::Operation(Operation::Release(UPDATES)))
            }
            Self::Learned => (Self::Begins, Next::Ends),
        }
    }
}
