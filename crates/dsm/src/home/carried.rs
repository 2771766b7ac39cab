//! What is known of atomic instructions that are [carried home](super::change), and of locks that
//! [stay](super::locks).

use crate::order::Version;
use crate::{Change, LockId, Operation};
use fathomp_base::{NodeId, PageId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// A thread that wants to change a page, and what its node knows of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Changer {
    pub(super) node: NodeId,
    /// None if it does not wait.
    pub(super) thread: Option<ThreadId>,
    pub(super) page: PageId,
    pub(super) change: Change,
    pub(super) known: Vec<Version>,
}

/// Threads that wait for a change, and what is to be told of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Changing {
    pub(super) asking: BTreeMap<ThreadId, (PageId, Change)>,
    /// Pages that were changed in the open interval, of which others may have copies.
    pub(super) pages: BTreeSet<PageId>,
}

impl Changing {
    /// Whether no thread here waits for a change.
    pub(super) fn is_idle(&self) -> bool {
        self.asking.is_empty()
    }

    /// Whether there is nothing to tell.
    pub(super) fn is_told(&self) -> bool {
        self.pages.is_empty()
    }

    /// Pages that the interval which ends now has to name.
    pub(super) fn take(&mut self) -> BTreeSet<PageId> {
        std::mem::take(&mut self.pages)
    }
}

/// What a home has yet to say is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Unanswered {
    pub(super) changes: u32,
    pub(super) pages: BTreeSet<PageId>,
}

/// Changes that are [postponed](super::postponed), and operations that wait for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Postponed {
    pub(super) collected: Vec<(PageId, Change)>,
    pub(super) underway: BTreeMap<NodeId, Unanswered>,
    pub(super) waiting: Vec<(ThreadId, Operation)>,
}

impl Postponed {
    /// Whether all are done.
    pub(super) fn is_done(&self) -> bool {
        self.collected.is_empty() && self.underway.is_empty()
    }

    /// Whether some have yet to be sent.
    pub(super) fn has_collected(&self) -> bool {
        !self.collected.is_empty()
    }

    /// Whether some of this page have.
    pub(super) fn has_collected_of(&self, page: PageId) -> bool {
        self.pages().any(|other| other == page)
    }

    /// Pages of which changes have yet to be sent.
    pub(super) fn pages(&self) -> impl Iterator<Item = PageId> {
        self.collected.iter().map(|(page, _)| *page)
    }

    /// Whether operations wait.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// Locks that this node has and no thread here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Locks {
    pub(super) kept: BTreeSet<LockId>,
    /// Locks that other nodes want: they are not kept when they are given back.
    pub(super) recalled: BTreeSet<LockId>,
}
