//! Changes of words that nobody waits for, as both protocols collect them: a thread goes on
//! at once, and what tells others anything waits until all changes before it are done. How they
//! are done is the [home-based](crate::home) or the [homeless](crate::homeless) protocol's affair.

use crate::{Change, Operation};
use fathomp_types::{PageId, ThreadId};

/// So many changes are a batch.
pub(crate) const BATCH: usize = 256;

/// Changes that have left the collection and are not known to be done.
pub(crate) trait InFlight {
    /// Whether there are none.
    fn is_done(&self) -> bool;
}

/// Changes that are postponed, and what waits for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Postponed<U> {
    collected: Vec<(PageId, Change)>,
    pub(crate) underway: U,
    waiting: Vec<(ThreadId, Operation)>,
}

impl<U: InFlight> Postponed<U> {
    /// Adds a change. True if there is a batch.
    pub(crate) fn collect(&mut self, page: PageId, change: Change) -> bool {
        self.collected.push((page, change));
        self.has_batch()
    }

    /// Whether there are enough of them.
    pub(crate) fn has_batch(&self) -> bool {
        self.collected.len() >= BATCH
    }

    /// What was collected, in order, which is the protocol's now.
    pub(crate) fn take_collected(&mut self) -> Vec<(PageId, Change)> {
        std::mem::take(&mut self.collected)
    }

    /// Whether all are done.
    pub(crate) fn is_done(&self) -> bool {
        self.collected.is_empty() && self.underway.is_done()
    }

    /// How many have yet to be sent.
    pub(crate) fn collected(&self) -> usize {
        self.collected.len()
    }

    /// Whether some of this page have.
    pub(crate) fn has_collected_of(&self, page: PageId) -> bool {
        self.pages().any(|other| other == page)
    }

    /// Pages of which changes have yet to be sent.
    pub(crate) fn pages(&self) -> impl Iterator<Item = PageId> {
        self.collected.iter().map(|(page, _)| *page)
    }

    /// An operation waits until all are done.
    pub(crate) fn wait(&mut self, thread: ThreadId, operation: Operation) {
        self.waiting.push((thread, operation));
    }

    /// Whether operations wait. Then nothing more is to be collected, or they would wait for
    /// ever.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Operations that have waited until now.
    pub(crate) fn take_waiting(&mut self) -> Vec<(ThreadId, Operation)> {
        std::mem::take(&mut self.waiting)
    }
}
