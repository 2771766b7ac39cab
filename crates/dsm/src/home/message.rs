//! What nodes of the home-based protocol tell each other.

use crate::{Content, Interval, LockId, Notice};
use fathomp_base::{NodeId, PageId, ThreadId};

/// An interval of a node.
pub type Version = (NodeId, Interval);

/// A message; `C` is what stands for the content of pages and diffs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message<C> {
    /// A message without content.
    Control(Control),
    /// The answer to [`Control::Fetch`].
    Page {
        /// The page.
        page: PageId,
        /// Intervals of this epoch that are part of the content.
        versions: Vec<Version>,
        /// The page's bytes.
        content: C,
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

/// Messages without content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// To a page's home: send it, once it contains what I know of.
    Fetch {
        /// The asker's epoch.
        epoch: u32,
        /// The page.
        page: PageId,
        /// Intervals whose diffs must have arrived at the home.
        need: Vec<Version>,
    },
    /// To the sequencer: what I wrote, and what I want.
    Exchange {
        /// The asker's epoch.
        epoch: u32,
        /// What is wanted.
        request: Request,
        /// Length of the log of this epoch that the asker knows.
        position: u32,
        /// The asker's intervals that have not been told yet.
        notices: Vec<Notice>,
    },
    /// From the sequencer: the log from the asker's position on.
    Granted {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The thread whose operation is done; none after [`Request::Learn`].
        thread: Option<ThreadId>,
        /// Length of the log.
        position: u32,
        /// The others' intervals.
        notices: Vec<Notice>,
    },
    /// From the sequencer: tell me your intervals now, somebody has already
    /// seen their pages.
    Demand {
        /// The sequencer's epoch.
        epoch: u32,
    },
    /// Up the barrier's tree: everybody below has arrived.
    Arrive {
        /// The epoch that ends.
        epoch: u32,
        /// All intervals of this epoch of the nodes below.
        notices: Vec<Notice>,
    },
    /// Down the barrier's tree: everybody has arrived.
    Depart {
        /// The epoch that ends.
        epoch: u32,
        /// All intervals of this epoch.
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
    /// Nothing: a lock is given back.
    Release(LockId),
    /// Nothing: an interval had to end outside any operation.
    Publish,
    /// The log, as soon as it contains these intervals.
    Learn(Vec<Version>),
}

/// See [`Message::if_late`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    Take,
    Drop,
    Refuse,
}

impl<C> Message<C> {
    /// The sender's epoch, if it matters for what the message means.
    pub(super) fn epoch(&self) -> Option<u32> {
        match self {
            Self::Diffs { epoch, .. }
            | Self::Control(
                Control::Fetch { epoch, .. }
                | Control::Exchange { epoch, .. }
                | Control::Granted { epoch, .. }
                | Control::Demand { epoch }
                | Control::Arrive { epoch, .. }
                | Control::Depart { epoch, .. },
            ) => Some(*epoch),
            Self::Page { .. } => None,
        }
    }

    /// What becomes of it if a barrier has overtaken it, which has told the
    /// same intervals. Other messages cannot be overtaken: a thread of their
    /// sender waits for the answer, and does not reach a barrier.
    pub(super) fn if_late(&self) -> Late {
        match self {
            Self::Control(Control::Exchange {
                request: Request::Release(_),
                ..
            }) => Late::Take,
            Self::Control(
                Control::Exchange {
                    request: Request::Publish | Request::Learn(_),
                    ..
                }
                | Control::Granted { thread: None, .. }
                | Control::Demand { .. },
            ) => Late::Drop,
            _ => Late::Refuse,
        }
    }
}

impl Message<Content> {
    /// Puts the content in.
    pub(super) fn fill<B>(self, mut content: impl FnMut(Content) -> B) -> Message<B> {
        match self {
            Self::Control(control) => Message::Control(control),
            Self::Page {
                page,
                versions,
                content: what,
            } => Message::Page {
                page,
                versions,
                content: content(what),
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
