//! What is known of atomic instructions that are [carried home](super::change), and of locks that
//! [stay](super::locks).

use crate::order::Version;
use crate::postponed::InFlight;
use crate::{Change, LockId};
use fathomp_types::{NodeId, PageId, ThreadId};
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

/// Changes that are [postponed](super::postponed), and what each home has yet to say is done.
pub(super) type Postponed = crate::postponed::Postponed<BTreeMap<NodeId, Unanswered>>;

impl InFlight for BTreeMap<NodeId, Unanswered> {
    fn is_done(&self) -> bool {
        self.is_empty()
    }
}

/// Locks that this node has and no thread here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Locks {
    pub(super) kept: BTreeSet<LockId>,
    /// Locks that other nodes want: they are not kept when they are given back.
    pub(super) recalled: BTreeSet<LockId>,
}
