//! What a node changes in pages and when, where races are looked for.

use super::blob::Blob;
use super::host::NodeError;
use super::machine::NodeMachine;
use fathomp_protocols::{PageRange, Protection, Protocol};
use fathomp_sys::cluster::pages::Permission;
use fathomp_types::{PAGE_BYTES, PageId};

impl NodeMachine<'_> {
    /// Looks for races: what a home's page was when it became writable, and what has
    /// changed when it is no longer.
    pub(super) fn watch_changes(
        &mut self,
        pages: PageRange,
        what: Protection,
        protocol: &dyn Protocol<Blob>,
    ) -> Result<(), NodeError> {
        // Nothing may become writable again by what was permitted before.
        self.settle_permissions()?;
        let (pages_here, work) = (self.host.pages, &mut *self.work);
        let Some((changes, (seen, _))) = work.changes.as_mut().zip(protocol.clock()) else {
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

    /// The same for a copy, which has a twin now.
    pub(super) fn begin_copy(&mut self, page: PageId, protocol: &dyn Protocol<Blob>) {
        let changes = self.work.changes.as_mut();
        if let Some((changes, (seen, _))) = changes.zip(protocol.clock()) {
            changes.begin_copy(page, seen);
        }
    }
}
