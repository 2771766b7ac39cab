//! What the engine tells its observer ([`crate::observer`]). The hot paths ask whether there is
//! one; the rest stands here.

use super::blob::Blob;
use super::host::NodeError;
use super::machine::NodeMachine;
use fathomp_protocols::{Diff, PageRange, Protection, Protocol};
use fathomp_sys::cluster::pages::Permission;
use fathomp_types::{PAGE_BYTES, PageId};

impl NodeMachine<'_> {
    /// The protocol starts, and permits something for the first time. Whether that is only noted.
    pub(super) fn starts_with(&mut self, pages: PageRange, protection: Protection) -> bool {
        let starting = self.work.starting;
        let observer = self.work.observer.as_mut().filter(|_| starting);
        let watch = observer.and_then(|observer| observer.watch.as_mut());
        watch.map(|watch| watch.start(pages, protection)).is_some()
    }

    /// What the program may do to pages changes: what a home's page was when it became writable,
    /// and what has changed when it is no longer.
    #[cold]
    pub(super) fn observe_protection(
        &mut self,
        pages: PageRange,
        what: Protection,
        protocol: &dyn Protocol<Blob>,
    ) -> Result<(), NodeError> {
        let observer = self.work.observer.as_ref();
        if observer.is_none_or(|observer| observer.changes.is_none()) {
            return Ok(());
        }
        // Nothing may become writable again by what was permitted before.
        self.settle_permissions()?;
        let (pages_here, work) = (self.host.pages, &mut *self.work);
        let changes = work.observer.as_mut().and_then(|o| o.changes.as_mut());
        let Some((changes, (seen, _))) = changes.zip(protocol.clock()) else {
            return Ok(());
        };
        let mut now = Box::new([0; PAGE_BYTES]);
        if what == Protection::ReadWrite {
            for page in pages.iter().filter(|page| !work.twins.has(*page)) {
                pages_here.read(page, &mut now).map_err(NodeError::Permit)?;
                changes.begin_home(page, seen, now.clone());
            }
            return Ok(());
        }
        for page in changes.written(pages.iter()) {
            // What was noted as written may still be read.
            let closed = pages_here.permit(page, 1, Permission::Read);
            closed.map_err(NodeError::Permit)?;
            pages_here.read(page, &mut now).map_err(NodeError::Permit)?;
            changes.end_home(page, &now);
        }
        Ok(())
    }

    /// The kernel is to permit so much. Whether as much of it as has been noted is done.
    #[cold]
    pub(super) fn observe_permission(
        &mut self,
        pages: PageRange,
        what: Permission,
    ) -> Result<bool, NodeError> {
        let observer = self.work.observer.as_mut();
        let Some(watch) = observer.and_then(|observer| observer.watch.as_mut()) else {
            return Ok(false);
        };
        watch.permit(self.host.pages, pages, what)?;
        Ok(true)
    }

    /// A copy has a twin now.
    #[cold]
    pub(super) fn observe_twin(&mut self, page: PageId, protocol: &dyn Protocol<Blob>) {
        let observer = self.work.observer.as_mut();
        let changes = observer.and_then(|observer| observer.changes.as_mut());
        if let Some((changes, (seen, _))) = changes.zip(protocol.clock()) {
            changes.begin_copy(page, seen);
        }
    }

    /// What was written in a copy is about to be sent.
    #[cold]
    pub(super) fn observe_diff(&mut self, page: PageId, diff: &Diff) {
        let observer = self.work.observer.as_mut();
        if let Some(changes) = observer.and_then(|observer| observer.changes.as_mut()) {
            changes.end_copy(page, diff);
        }
    }

    /// What another node wrote is about to be put in.
    #[cold]
    pub(super) fn observe_arrival(&mut self, page: PageId, diff: &Diff) -> Result<(), NodeError> {
        let observer = self.work.observer.as_mut();
        if let Some(changes) = observer.and_then(|observer| observer.changes.as_mut()) {
            let mut now = Box::new([0; PAGE_BYTES]);
            let read = self.host.pages.read(page, &mut now);
            read.map_err(NodeError::Permit)?;
            changes.apply(page, &now, diff);
        }
        Ok(())
    }

    /// A diff was put in.
    #[cold]
    pub(super) fn observe_content(&mut self, page: PageId, diff: &Diff) {
        let observer = self.work.observer.as_mut();
        if let Some(watch) = observer.and_then(|observer| observer.watch.as_mut()) {
            watch.apply(page, diff);
        }
    }

    /// A step is over.
    #[cold]
    pub(super) fn observe_step(&mut self, protocol: &dyn Protocol<Blob>) -> Result<(), NodeError> {
        let observer = self.work.observer.as_mut();
        let changes = observer.and_then(|observer| observer.changes.as_mut());
        let lookout = self.host.observer.and_then(|o| o.lookout.as_ref());
        if let Some(((changes, lookout), (_, interval))) =
            changes.zip(lookout).zip(protocol.clock())
        {
            changes.tell(interval, self.host.transport, lookout)?;
        }
        Ok(())
    }
}
