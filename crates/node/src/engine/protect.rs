//! What the program may do to pages.
//!
//! Neighbours that come to be permitted the same one after the other are one request to the
//! kernel, made before anything else is done.

use super::{Blob, Driver, Hands, Trouble};
use fathomp_dsm::{PageRange, Protection, Protocol};
use fathomp_sys::cluster::pages::Permission;

impl<P: Protocol<Blob>> Driver<P> {
    /// Changes what the program may do to pages.
    pub(super) fn protect(
        &mut self,
        hands: &Hands,
        pages: PageRange,
        what: Protection,
    ) -> Result<(), Trouble> {
        if self.changes.is_some() {
            self.watch_changes(hands, pages, what)?;
        }
        // A thread may have written a page by a fault that it had before the page came for
        // another one: that is told already, and the page may be gone when it is looked next.
        self.unwatched.remove(pages);
        if what == Protection::Read {
            return self.protect_from_writes(hands, pages);
        }
        let twinned = |page| self.twins.has(page);
        if what != Protection::Watched || !pages.iter().any(twinned) {
            return self.permit(hands, pages, what);
        }
        if pages.iter().all(twinned) {
            self.unwatched.add(pages);
            return self.permit(hands, pages, Protection::ReadWrite);
        }
        let mut pages = pages.iter();
        pages.try_for_each(|page| self.protect(hands, page.into(), what))
    }

    /// Watches pages that should have been watched before.
    pub(super) fn watch_late(&mut self, hands: &Hands) -> Result<(), Trouble> {
        if self.late.is_empty() {
            return Ok(());
        }
        while let Some(pages) = self.late.pop() {
            self.protect(hands, pages, Protection::Watched)?;
        }
        self.settle(hands)
    }

    /// Makes sure that the program does not write pages: forbids it, unless they will be
    /// taken away before it could.
    pub(super) fn protect_from_writes(
        &mut self,
        hands: &Hands,
        pages: PageRange,
    ) -> Result<(), Trouble> {
        let watched = self.watch.is_some() || self.changes.is_some();
        let stays = |page| !self.protocol.gives_back(page);
        if !hands.still || watched || pages.iter().any(stays) {
            return self.permit(hands, pages, Protection::Read);
        }
        self.untouched.push(pages);
        Ok(())
    }

    /// Permits so much for pages, once [`Self::settle`] is called.
    pub(super) fn permit(
        &mut self,
        hands: &Hands,
        pages: PageRange,
        what: Protection,
    ) -> Result<(), Trouble> {
        let what = match what {
            Protection::None => Permission::None,
            // A write is noticed because it is not permitted.
            Protection::Read | Protection::Watched => Permission::Read,
            Protection::ReadWrite => Permission::ReadWrite,
        };
        if let Some((before, same)) = &mut self.unsettled
            && *same == what
            && let Some(both) = before.joined(pages)
        {
            *before = both;
            return Ok(());
        }
        self.settle(hands)?;
        self.unsettled = Some((pages, what));
        Ok(())
    }

    /// Has the kernel permit what is to be permitted.
    pub(super) fn settle(&mut self, hands: &Hands) -> Result<(), Trouble> {
        let Some((pages, what)) = self.unsettled.take() else {
            return Ok(());
        };
        if let Some(watch) = &mut self.watch {
            return Ok(watch.permit(hands.pages, pages, what)?);
        }
        let (first, number) = (pages.first(), pages.len());
        let permitted = match what {
            // Where a barrier ends it is only likely.
            Permission::ReadWrite if !hands.still => hands.pages.permit_to_write(first, number),
            _ => hands.pages.permit(first, number, what),
        };
        permitted.map_err(Trouble::Permit)
    }
}
