//! What nodes tell each other to synchronise.

use crate::interval::Version;
use crate::{Interval, LockId, WriteNotice};
use fathomp_types::ThreadId;

/// A message that carries no content of pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// To the sequencer: what I wrote, and what I want.
    Exchange {
        /// The asker's epoch.
        epoch: u32,
        /// What is wanted.
        request: Request,
        /// The asker's interval that has not been told yet.
        notice: Option<WriteNotice>,
    },
    /// From the sequencer: what of the log has not been told to the receiver.
    Granted {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The thread whose operation is done, if one asked.
        thread: Option<ThreadId>,
        /// The others' intervals.
        notices: Vec<WriteNotice>,
    },
    /// From the sequencer: the lock is not free.
    Refused {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The thread that asked.
        thread: ThreadId,
    },
    /// From the sequencer: tell me your last interval now, somebody has already
    /// seen a page of it.
    Demand {
        /// The sequencer's epoch.
        epoch: u32,
        /// The interval that was seen, which may have yet to end.
        interval: Interval,
    },
    /// From the sequencer: give back a lock that you keep, somebody wants it.
    Recall {
        /// The sequencer's epoch.
        epoch: u32,
        /// The lock.
        lock: LockId,
    },
    /// Down the barrier's tree, before everybody has arrived: somebody flushes, so tell the
    /// sequencer your last interval as soon as you arrive.
    Alert {
        /// The sequencer's epoch.
        epoch: u32,
    },
    /// Up the barrier's tree: everybody below has arrived.
    Arrive {
        /// The epoch that ends.
        epoch: u32,
        /// What the nodes below wrote in it.
        notices: Vec<WriteNotice>,
        /// Somebody below keeps so much that it is time to tidy up.
        full: bool,
    },
    /// Down the barrier's tree: everybody has arrived.
    Depart {
        /// The epoch that ends.
        epoch: u32,
        /// What everybody wrote in it.
        notices: Vec<WriteNotice>,
        /// It is time to tidy up.
        full: bool,
        /// The sequencer has told some of that before. So that this cannot overtake it, the
        /// root sends it to everybody, and nobody passes it on.
        cut: bool,
    },
}

/// What a node wants from the sequencer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// The log, for a thread that flushes.
    Flush(ThreadId),
    /// A lock, for a thread.
    Acquire(LockId, ThreadId),
    /// A lock, for a thread that does not wait.
    TryAcquire(LockId, ThreadId),
    /// Nothing: a lock is given back.
    Release(LockId),
    /// Nothing: an interval had to end outside any operation.
    Publish,
    /// The log, as soon as it contains these intervals.
    Learn(Vec<Version>),
}

/// What becomes of a message of an epoch that its receiver has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfLate {
    Take,
    Drop,
    Refuse,
}

impl Control {
    /// The epoch to which it belongs.
    pub(crate) fn epoch(&self) -> u32 {
        match self {
            Self::Exchange { epoch, .. }
            | Self::Granted { epoch, .. }
            | Self::Refused { epoch, .. }
            | Self::Demand { epoch, .. }
            | Self::Recall { epoch, .. }
            | Self::Alert { epoch }
            | Self::Arrive { epoch, .. }
            | Self::Depart { epoch, .. } => *epoch,
        }
    }

    /// A node that has not come to a barrier does not open it, and one that has waits there.
    pub(crate) fn can_wait(&self) -> bool {
        matches!(self, Self::Arrive { .. } | Self::Depart { .. })
    }

    /// Asks a node for its last interval that has ended.
    #[must_use]
    pub fn demand(epoch: u32) -> Self {
        let interval = Interval::default();
        Self::Demand { epoch, interval }
    }

    /// The sequencer's answer to a thread that flushes or wants a lock. Without notices the thread is
    /// refused the lock.
    #[must_use]
    pub fn answer(epoch: u32, thread: ThreadId, notices: Option<Vec<WriteNotice>>) -> Self {
        match notices {
            Some(notices) => Self::Granted {
                epoch,
                thread: Some(thread),
                notices,
            },
            None => Self::Refused { epoch, thread },
        }
    }

    /// A barrier can overtake what nobody waits for; what it says of intervals
    /// the barrier has told as well. Whoever waits for an answer does not reach a
    /// barrier, so that cannot be late; but for locks, for which threads wait that take no
    /// part in barriers.
    pub(crate) fn if_late(&self) -> IfLate {
        match self {
            Self::Exchange {
                // The barrier has not told what threads wrote after their node came to
                // it, which take no part in barriers.
                request: Request::Release(_) | Request::Publish | Request::Acquire(..),
                ..
            }
            | Self::Granted {
                thread: Some(_), ..
            }
            | Self::Recall { .. } => IfLate::Take,
            Self::Exchange {
                request: Request::Learn(_),
                ..
            }
            | Self::Granted { thread: None, .. }
            | Self::Demand { .. }
            | Self::Alert { .. } => IfLate::Drop,
            _ => IfLate::Refuse,
        }
    }
}
