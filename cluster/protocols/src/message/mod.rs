//! What nodes tell each other: one vocabulary for both protocols.

mod border;
mod control;
mod control_wire;
mod wire;

pub use border::Bounds;
pub(crate) use control::IfLate;
pub use control::{Control, Request};

use crate::interval::Version;
use crate::{Change, Interval, PageRange, PageSet};
use fathomp_types::{NodeId, PageId, ThreadId};

/// A message; `C` is what stands for the content of pages and diffs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message<C> {
    /// To synchronise. In the home-based protocol a barrier's notices are, for each writer and
    /// each home of pages that it wrote in the epoch, these pages and the last of its intervals
    /// in which it wrote some of them. In the homeless protocol they are single intervals, in
    /// the log's order.
    Control(Control),
    /// To the home (or the owner) of pages: send them, once they contain what I know of.
    Fetch {
        /// The asker's epoch.
        epoch: u32,
        /// The pages.
        pages: PageRange,
        /// Intervals whose diffs must have arrived at the home.
        need: Vec<Version>,
    },
    /// The answer to [`Self::Fetch`].
    Pages {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The first of the pages, which follow each other.
        first: PageId,
        /// The pages.
        copies: Vec<PageCopy<C>>,
    },
    /// To the home of pages: what the sender wrote in one interval into them, or a part of
    /// it.
    Diffs {
        /// The sender's epoch.
        epoch: u32,
        /// The sender's interval.
        interval: Interval,
        /// Pages and their diffs.
        diffs: Vec<(PageId, C)>,
        /// The next message has more of it.
        more: bool,
    },
    /// To a writer, where pages have no home: what did you change in these intervals of yours?
    DiffsWanted {
        /// The asker's epoch.
        epoch: u32,
        /// The page.
        page: PageId,
        /// The receiver's intervals.
        intervals: Vec<Interval>,
    },
    /// The answer to [`Self::DiffsWanted`].
    DiffsOfPage {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The page.
        page: PageId,
        /// Intervals and their diffs.
        diffs: Vec<(Interval, C)>,
    },
    /// To one of the last writers of a page, where pages have no home: hand on what was changed
    /// in these intervals, some of yours among them. Answered by [`Self::HandedOn`], or by a page.
    HandOn {
        /// The asker's epoch.
        epoch: u32,
        /// The page.
        page: PageId,
        /// The intervals, the receiver's last one the last, all of which it is thought to know.
        wanted: Vec<Version>,
        /// Whether all of the page will do.
        whole: bool,
    },
    /// The answer to [`Self::HandOn`]: what is kept here of that.
    HandedOn {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The page.
        page: PageId,
        /// Intervals and their diffs.
        diffs: Vec<(Version, C)>,
    },
    /// To a home: change a page in one atomic step, once it contains what I know of.
    Change {
        /// The asker's epoch.
        epoch: u32,
        /// The page.
        page: PageId,
        /// The thread that asks.
        thread: ThreadId,
        /// What is to become of it.
        change: Change,
        /// Intervals whose diffs must have arrived at the home.
        need: Vec<Version>,
        /// Intervals of this epoch of which the asker knows: who sees what it wrote has to
        /// know of them.
        known: Vec<Version>,
    },
    /// The answer to [`Self::Change`].
    Changed {
        /// The epoch in which it was asked.
        epoch: u32,
        /// The thread that asked.
        thread: ThreadId,
        /// The word as it was.
        before: u64,
        /// Intervals of which the asker has to know before its thread goes on.
        shows: Vec<Version>,
    },
    /// To a home: change pages, each in one atomic step, once they contain what I know of.
    Changes {
        /// The asker's epoch.
        epoch: u32,
        /// Pages, and what is to become of them, in this order.
        changes: Vec<(PageId, Change)>,
        /// Intervals whose diffs must have arrived at the home.
        need: Vec<Version>,
        /// Intervals of this epoch of which the asker knows: who sees what it wrote has to
        /// know of them.
        known: Vec<Version>,
    },
    /// The answer to [`Self::Changes`], perhaps in several parts.
    ChangesDone {
        /// The epoch in which it was asked.
        epoch: u32,
        /// So many of them are done.
        changes: u32,
    },
    /// About pages that one node writes again and again.
    Lease {
        /// The sender's epoch.
        epoch: u32,
        /// What about them.
        term: Term,
        /// The pages.
        pages: PageSet,
    },
}

/// A page as it is at its home or owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageCopy<C> {
    /// Intervals that are part of the content: home-based those of this epoch, homeless those
    /// since the last tidying.
    pub versions: Vec<Version>,
    /// Intervals that the asker has to know of before its threads may look, as the content
    /// may have been written after them without anybody noticing.
    pub after: Vec<Version>,
    /// The page's bytes.
    pub content: C,
}

/// What nodes tell each other about exclusive leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// To the pages' home: I write them again and again, and would rather not tell.
    Ask,
    /// The home's answer: those which it may.
    Grant,
    /// The home wants them back.
    Recall,
    /// They are at home again, with all that was written.
    Return,
    /// The home's answer to a node that has asked for several pages: these are not there, and
    /// it wants them back only for a node that asks for them alone.
    LeasedOut,
    /// From the home: give up your copies, since this node is to be alone with them.
    DropCopies(NodeId),
    /// To the home: these are gone.
    CopiesDropped(NodeId),
}

impl<C> Message<C> {
    /// The epoch to which it belongs.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        match self {
            Self::Control(control) => control.epoch(),
            Self::Fetch { epoch, .. }
            | Self::Pages { epoch, .. }
            | Self::Diffs { epoch, .. }
            | Self::DiffsWanted { epoch, .. }
            | Self::DiffsOfPage { epoch, .. }
            | Self::HandOn { epoch, .. }
            | Self::HandedOn { epoch, .. }
            | Self::Change { epoch, .. }
            | Self::Changed { epoch, .. }
            | Self::Changes { epoch, .. }
            | Self::ChangesDone { epoch, .. }
            | Self::Lease { epoch, .. } => *epoch,
        }
    }

    /// What becomes of it at a receiver that has left its epoch. Fetches in advance can be
    /// overtaken by a barrier, and are made anew; and so can what threads want that take no
    /// part in barriers. All leases have ended.
    pub(crate) fn if_late(&self) -> IfLate {
        match self {
            Self::Control(control) => control.if_late(),
            Self::Fetch { .. } | Self::Pages { .. } => IfLate::Drop,
            Self::DiffsWanted { .. } | Self::DiffsOfPage { .. } => IfLate::Drop,
            Self::HandOn { .. } | Self::HandedOn { .. } => IfLate::Drop,
            Self::Diffs { .. } => IfLate::Refuse,
            Self::Change { .. } | Self::Changed { .. } => IfLate::Refuse,
            Self::Changes { .. } | Self::ChangesDone { .. } => IfLate::Refuse,
            Self::Lease { .. } => IfLate::Drop,
        }
    }

    /// Whether its receiver need not act upon it before one of its threads waits for
    /// something, or another message comes that asks for an answer.
    #[must_use]
    pub fn can_wait(&self) -> bool {
        match self {
            Self::Control(control) => control.can_wait(),
            // Sent before any node is told of the interval, and so before any node asks for
            // pages that have to contain it.
            Self::Diffs { .. } => true,
            Self::Lease { term, .. } => {
                !matches!(term, Term::Recall | Term::Return | Term::LeasedOut)
            }
            Self::Fetch { .. } | Self::Pages { .. } => false,
            Self::DiffsWanted { .. } | Self::DiffsOfPage { .. } => false,
            Self::HandOn { .. } | Self::HandedOn { .. } => false,
            Self::Change { .. } | Self::Changed { .. } => false,
            Self::Changes { .. } | Self::ChangesDone { .. } => false,
        }
    }

    /// Replaces the content.
    pub fn map<D>(self, mut content: impl FnMut(C) -> D) -> Message<D> {
        match self {
            Self::Control(control) => Message::Control(control),
            Self::Fetch { epoch, pages, need } => Message::Fetch { epoch, pages, need },
            Self::Pages {
                epoch,
                first,
                copies,
            } => {
                let copies = copies.into_iter().map(|copy| PageCopy {
                    versions: copy.versions,
                    after: copy.after,
                    content: content(copy.content),
                });
                Message::Pages {
                    epoch,
                    first,
                    copies: copies.collect(),
                }
            }
            Self::Diffs {
                epoch,
                interval,
                diffs,
                more,
            } => {
                let diffs = diffs.into_iter();
                Message::Diffs {
                    epoch,
                    interval,
                    diffs: diffs.map(|(page, what)| (page, content(what))).collect(),
                    more,
                }
            }
            Self::DiffsWanted {
                epoch,
                page,
                intervals,
            } => Message::DiffsWanted {
                epoch,
                page,
                intervals,
            },
            Self::DiffsOfPage { epoch, page, diffs } => {
                let diffs = diffs.into_iter();
                Message::DiffsOfPage {
                    epoch,
                    page,
                    diffs: diffs.map(|(of, what)| (of, content(what))).collect(),
                }
            }
            Self::HandOn {
                epoch,
                page,
                wanted,
                whole,
            } => Message::HandOn {
                epoch,
                page,
                wanted,
                whole,
            },
            Self::HandedOn { epoch, page, diffs } => {
                let diffs = diffs.into_iter();
                Message::HandedOn {
                    epoch,
                    page,
                    diffs: diffs.map(|(of, what)| (of, content(what))).collect(),
                }
            }
            Self::Change {
                epoch,
                page,
                thread,
                change,
                need,
                known,
            } => Message::Change {
                epoch,
                page,
                thread,
                change,
                need,
                known,
            },
            Self::Changed {
                epoch,
                thread,
                before,
                shows,
            } => Message::Changed {
                epoch,
                thread,
                before,
                shows,
            },
            Self::Changes {
                epoch,
                changes,
                need,
                known,
            } => Message::Changes {
                epoch,
                changes,
                need,
                known,
            },
            Self::ChangesDone { epoch, changes } => Message::ChangesDone { epoch, changes },
            Self::Lease { epoch, term, pages } => Message::Lease { epoch, term, pages },
        }
    }
}

impl<C> From<Control> for Message<C> {
    fn from(control: Control) -> Self {
        Self::Control(control)
    }
}
