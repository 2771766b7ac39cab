//! Updates: what a thread has to know before and after it changes a page in its home's
//! memory by an atomic instruction (see [`fathomp_protocols::Updates`]).

use crate::{Driver, Machine};
use fathomp_protocols::{Body, Protocol};
use fathomp_shm_window::UpdateStart;
use fathomp_types::{NodeId, PageId};

impl<P: Protocol<B>, B: Body> Driver<P, B> {
    /// Whether this node has to flush before a page is updated; None if the page cannot be.
    pub fn owes_before_update<M: Machine<Body = B>>(
        &self,
        machine: &M,
        page: PageId,
    ) -> Option<bool> {
        let window = machine.window()?;
        self.protocol.updates(page)?;
        let owes = self.protocol.owes() || machine.may_have_been_written();
        Some(owes || !window.is_told(&self.underway))
    }

    /// Whether this node has to flush after an update.
    pub fn lacks_news_after_update<M: Machine<Body = B>>(&self, machine: &M) -> bool {
        let there = machine.window().zip(self.protocol.committed());
        self.protocol.borrows()
            || self.protocol.awaits_diffs()
            || there.is_some_and(|(window, there)| window.has_news(there.epoch))
    }

    /// Begins to update a page: what came of it, and the page's home. If it has begun, the
    /// caller changes the page in its home's memory and then calls
    /// [`fathomp_shm_window::Window::end_update`].
    pub fn begin_update<M: Machine<Body = B>>(
        &self,
        machine: &M,
        page: PageId,
    ) -> (UpdateStart, NodeId) {
        match machine.window().zip(self.protocol.updates(page)) {
            Some((window, updates)) => (window.begin_update(&updates, page), updates.home),
            None => (UpdateStart::Never, self.me),
        }
    }

    /// Whether all that this node has told by message is known to a node that asks for it.
    pub fn is_told<M: Machine<Body = B>>(&self, machine: &M) -> bool {
        let window = machine.window();
        window.is_some_and(|window| window.is_told(&self.underway))
    }
}
