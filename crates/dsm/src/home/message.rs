//! What nodes of the home-based protocol tell each other.

use crate::{Content, Interval, LockId, Notice, PageRange};
use fathomp_base::{NodeId, PageId, ThreadId};

/// An interval of a node.
pub type Version = (NodeId, Interval);

/// A message; `C` is what stands for the content of pages and diffs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message<C> {
    /// A message without content.
    Control(Control),
    /// The answer to [`Control::Fetch`].
    Pages {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The first of the pages, which follow each other.
        first: PageId,
        /// The pages.
        copies: Vec<PageCopy<C>>,
    },
    /// What the sender wrote in one interval into pages at home at the receiver.
    Diffs {
        /// The sender's epoch.
        epoch: u32,
        /// The sender's interval.
        interval: Interval,
        /// Pages and their diffs.
        diffs: Vec<(PageId, C)>,
    },
}

/// A page as it is at its home.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageCopy<C> {
    /// Intervals of this epoch that are part of the content.
    pub versions: Vec<Version>,
    /// The page's bytes.
    pub content: C,
}

/// Messages without content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// To a home of pages: send them, once they contain what I know of.
    Fetch {
        /// The asker's epoch.
        epoch: u32,
        /// The pages.
        pages: PageRange,
        /// Intervals whose diffs must have arrived at the home.
        need: Vec<Version>,
    },
    /// To the sequencer: what I wrote, and what I want.
    Exchange {
        /// The asker's epoch.
        epoch: u32,
        /// What is wanted.
        request: Request,
        /// The asker's interval that has not been told yet.
        notice: Option<Notice>,
    },
    /// From the sequencer: what of the log has not been told to the receiver.
    Granted {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The thread whose operation is done, if one asked.
        thread: Option<ThreadId>,
        /// The others' intervals.
        notices: Vec<Notice>,
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
    },
    /// Up the barrier's tree: everybody below has arrived.
    Arrive {
        /// The epoch that ends.
        epoch: u32,
        /// What the nodes below wrote in it; see [`Self::Depart`].
        notices: Vec<Notice>,
    },
    /// Down the barrier's tree: everybody has arrived.
    Depart {
        /// The epoch that ends.
        epoch: u32,
        /// What everybody wrote in it: for each writer and each home of pages
        /// that it wrote, these pages and the last of its intervals in which it
        /// wrote some of them.
        notices: Vec<Notice>,
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
pub(super) enum IfLate {
    Take,
    Drop,
    Refuse,
}

impl<C> Message<C> {
    /// The epoch to which it belongs.
    pub(super) fn epoch(&self) -> u32 {
        match self {
            Self::Pages { epoch, .. }
            | Self::Diffs { epoch, .. }
            | Self::Control(
                Control::Fetch { epoch, .. }
                | Control::Exchange { epoch, .. }
                | Control::Granted { epoch, .. }
                | Control::Refused { epoch, .. }
                | Control::Demand { epoch }
                | Control::Arrive { epoch, .. }
                | Control::Depart { epoch, .. },
            ) => *epoch,
        }
    }

    /// A barrier can overtake what nobody waits for; what it says of intervals
    /// the barrier has told as well, and copies are made anew. Whoever waits for
    /// an answer does not reach a barrier: that cannot be late.
    pub(super) fn if_late(&self) -> IfLate {
        match self {
            Self::Control(Control::Exchange {
                request: Request::Release(_),
                ..
            }) => IfLate::Take,
            Self::Pages { .. }
            | Self::Control(
                Control::Fetch { .. }
                | Control::Exchange {
                    request: Request::Publish | Request::Learn(_),
                    ..
                }
                | Control::Granted { thread: None, .. }
                | Control::Demand { .. },
            ) => IfLate::Drop,
            Self::Diffs { .. } | Self::Control(_) => IfLate::Refuse,
        }
    }
}

impl Message<Content> {
    /// Puts the content in.
    pub(super) fn fill<B>(self, mut content: impl FnMut(Content) -> B) -> Message<B> {
        match self {
            Self::Control(control) => Message::Control(control),
            Self::Pages {
                epoch,
                first,
                copies,
            } => Message::Pages {
                epoch,
                first,
                copies: copies
                    .into_iter()
                    .map(|copy| PageCopy {
                        versions: copy.versions,
                        content: content(copy.content),
                    })
                    .collect(),
            },
            Self::Diffs {
                epoch,
                interval,
                diffs,
            } => Message::Diffs {
                epoch,
                interval,
                diffs: diffs
                    .into_iter()
                    .map(|(page, what)| (page, content(what)))
                    .collect(),
            },
        }
    }
}
