//! What threads that leave loops of the program's own may have seen, and what they have to
//! learn for that, see [`fathomp_dsm::Looks`].

use super::{Blob, Driver, Hands, Trouble};
use fathomp_base::{PAGE_BYTES, PageId};
use fathomp_dsm::{Lacks, Protocol};
use std::ops::Range;

impl<P: Protocol<Blob>> Driver<P> {
    /// Remembers what these pages were that loops look at: others' content comes next, now or
    /// in a later step.
    pub(super) fn before_arrival(
        &mut self,
        hands: &Hands,
        pages: impl IntoIterator<Item = PageId>,
    ) -> Result<(), Trouble> {
        for page in pages {
            if self.looks.wants(page) {
                self.looks.before(page, read(hands, page)?);
            }
        }
        Ok(())
    }

    /// The content of a page has come.
    pub(super) fn arrived(&mut self, hands: &Hands, page: PageId) -> Result<(), Trouble> {
        let follows = self.looks.follows(page);
        let content = follows.then(|| read(hands, page)).transpose()?;
        self.looks.arrived(page, content.as_deref());
        Ok(())
    }

    /// What a thread lacks that has looked at these bytes of a page, or nobody knows where.
    pub(super) fn lacking(
        &mut self,
        hands: &Hands,
        looked: Option<(PageId, Range<usize>)>,
    ) -> Lacks {
        let page = looked.as_ref().map(|(page, _)| *page);
        if !self.looks.is_covered(looked) {
            return Lacks::WhatOthersHaveToTell;
        }
        // Elsewhere nothing comes but by being installed.
        if page.is_some_and(|page| !self.protocol.is_at_home(page)) {
            return Lacks::Nothing;
        }
        let is_updated = page.zip(hands.window);
        let is_updated = is_updated.is_none_or(|(page, window)| window.is_updated(page));
        match self.is_behind(hands) || is_updated && self.lacks_news(hands) {
            true => Lacks::WhatIsTold,
            false => Lacks::Nothing,
        }
    }

    /// Whether diffs are, or may be, part of pages here, of intervals that this node does not
    /// know of; or are not, of intervals that it knows of.
    pub(super) fn is_behind(&self, hands: &Hands) -> bool {
        let there = hands.window.zip(self.protocol.committed());
        let shows = there.is_some_and(|(window, there)| !window.begun(there.known).is_empty());
        shows || self.protocol.awaits_diffs()
    }
}

fn read(hands: &Hands, page: PageId) -> Result<Box<[u8; PAGE_BYTES]>, Trouble> {
    let mut content = Box::new([0; PAGE_BYTES]);
    hands
        .pages
        .read(page, &mut content)
        .map_err(Trouble::Permit)?;
    Ok(content)
}
