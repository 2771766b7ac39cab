//! Pages that are taken out of other nodes' memory, and those that others may take
//! here.

use super::{Blob, Driver, Hands};
use fathomp_base::{NodeId, PageId};
use fathomp_dsm::{Input, PageRange, PageSet, Protocol};

impl<P: Protocol<Blob>> Driver<P> {
    /// Shows others what this node's pages contain now.
    pub(super) fn show(&self, hands: &Hands) {
        if let Some((window, committed)) = hands.window.zip(self.protocol.committed()) {
            window.show(committed);
        }
    }

    /// Takes what can be of what a message asks for out of its receiver's memory.
    /// `false` if the message has to be sent.
    pub(super) fn take(&mut self, hands: &Hands, from: NodeId, message: &P::Outgoing) -> bool {
        let Some((window, wanted)) = hands.window.zip(P::wanted(message)) else {
            return false;
        };
        let taken = window.take(from, wanted, hands.pages);
        for pages in taken.ranges() {
            let answer = P::taken(wanted.epoch, *pages, |_| Blob::Here);
            let answer = answer.map(|message| Input::Message { from, message });
            self.taken.extend(answer);
        }
        let some = !taken.is_empty();
        if some && taken.len() < u64::from(wanted.pages.len()) {
            let is_taken = |page: &PageId| taken.contains(*page);
            let left: PageSet = wanted.pages.iter().filter(|p| !is_taken(p)).collect();
            self.taken
                .extend(left.ranges().iter().copied().map(Input::Left));
        }
        some
    }
}

/// Lets other nodes take pages of this one, or forbids it.
pub(super) fn set_open(hands: &Hands, pages: PageRange, open: bool) {
    if let Some(window) = hands.window {
        window.set_open(pages, open);
    }
}
