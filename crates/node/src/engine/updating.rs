//! Updates: what a thread has to know before and after it changes a page in its home's
//! memory by an atomic instruction.

use super::{Blob, Driver, Hands};
use crate::window::Begun;
use fathomp_base::PageId;
use fathomp_dsm::Protocol;

impl<P: Protocol<Blob>> Driver<P> {
    /// Whether this node has to flush before a page is updated; None if it cannot be.
    pub(super) fn owes_before(&self, hands: &Hands, page: PageId) -> Option<bool> {
        let window = hands.window?;
        self.protocol.updates(page)?;
        let owes = self.protocol.owes() || !self.unwatched.is_empty();
        Some(owes || !window.is_told(&self.underway))
    }

    /// Begins to update a byte of a page.
    pub(super) fn try_to_update(&self, hands: &Hands, page: PageId, offset: usize) -> Begun {
        let updates = hands.window.zip(self.protocol.updates(page));
        updates.map_or(Begun::Never, |(window, updates)| {
            window.begin_update(&updates, hands.pages, page, offset)
        })
    }

    /// Whether this node has to flush after an update.
    pub(super) fn lacks_news(&self, hands: &Hands) -> bool {
        let committed = hands.window.zip(self.protocol.committed());
        self.protocol.borrows()
            || self.protocol.awaits_diffs()
            || committed.is_some_and(|(window, there)| window.has_news(there.epoch))
    }
}
