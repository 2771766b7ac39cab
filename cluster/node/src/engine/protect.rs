//! What the program may do to pages.
//!
//! Neighbours that come to be permitted the same one after the other are one request to the
//! kernel, made before anything else is done.

use super::blob::Blob;
use super::host::NodeError;
use super::machine::NodeMachine;
use fathomp_protocols::{PageRange, Protection, Protocol};
use fathomp_sys::cluster::pages::Permission;

impl NodeMachine<'_> {
    /// Changes what the program may do to pages.
    pub(super) fn change_protection(
        &mut self,
        pages: PageRange,
        what: Protection,
        protocol: &dyn Protocol<Blob>,
    ) -> Result<(), NodeError> {
        if self.work.observer.is_some() {
            self.observe_protection(pages, what, protocol)?;
        }
        // A thread may have written a page by a fault that it had before the page came for
        // another one: that is told already, and the page may be gone when it is looked next.
        self.work.unwatched.remove(pages);
        if what == Protection::Read {
            return self.permit(pages, Protection::Read);
        }
        match what {
            Protection::Watched => self.watch_pages(pages),
            _ => self.permit(pages, what),
        }
    }

    /// Watches pages: a write to one is a fault, or, if it has a twin, is found by comparing.
    fn watch_pages(&mut self, pages: PageRange) -> Result<(), NodeError> {
        let twinned = |page| self.work.twins.has(page);
        if !pages.iter().any(twinned) {
            return self.permit(pages, Protection::Watched);
        }
        if pages.iter().all(twinned) {
            self.work.unwatched.add(pages);
            return self.permit(pages, Protection::ReadWrite);
        }
        let mut pages = pages.iter();
        pages.try_for_each(|page| self.watch_pages(page.into()))
    }

    /// Watches pages that should have been watched before.
    pub(super) fn watch_late(&mut self) -> Result<(), NodeError> {
        if self.work.late.is_empty() {
            return Ok(());
        }
        while let Some(pages) = self.work.late.pop() {
            self.watch_pages(pages)?;
        }
        self.settle_permissions()
    }

    /// Permits so much for pages, once [`Self::settle_permissions`] is called.
    pub(super) fn permit(&mut self, pages: PageRange, what: Protection) -> Result<(), NodeError> {
        let what = match what {
            Protection::None => Permission::None,
            // A write is noticed because it is not permitted.
            Protection::Read | Protection::Watched => Permission::Read,
            Protection::ReadWrite => Permission::ReadWrite,
        };
        if let Some((before, same)) = &mut self.work.unsettled
            && *same == what
            && let Some(both) = before.joined(pages)
        {
            *before = both;
            return Ok(());
        }
        self.settle_permissions()?;
        self.work.unsettled = Some((pages, what));
        Ok(())
    }

    /// Has the kernel permit what is to be permitted.
    pub(super) fn settle_permissions(&mut self) -> Result<(), NodeError> {
        let host = self.host;
        let Some((pages, what)) = self.work.unsettled.take() else {
            return Ok(());
        };
        if self.work.observer.is_some() && self.observe_permission(pages, what)? {
            return Ok(());
        }
        let (first, number) = (pages.first(), pages.len());
        let permitted = match what {
            // Where a barrier ends it is only likely.
            Permission::ReadWrite if !host.still => host.pages.permit_to_write(first, number),
            _ => host.pages.permit(first, number, what),
        };
        permitted.map_err(NodeError::Permit)
    }
}
