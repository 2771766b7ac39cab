//! What a node changes in pages and when, where races are looked for.

use super::{Blob, Driver, Hands, Trouble};
use fathomp_base::{PAGE_BYTES, PageId};
use fathomp_dsm::{PageRange, Protection, Protocol};
use fathomp_sys::cluster::pages::Permission;

impl<P: Protocol<Blob>> Driver<P> {
    /// Looks for races: what a home's page was when it became writable, and what has
    /// changed when it is no longer.
    pub(super) fn watch_changes(
        &mut self,
        hands: &Hands,
        pages: PageRange,
        what: Protection,
    ) -> Result<(), Trouble> {
        // Nothing may become writable again by what was permitted before.
        self.settle(hands)?;
        let Some((changes, (seen, _))) = self.changes.as_mut().zip(self.protocol.clock()) else {
            return Ok(());
        };
        let mut now = Box::new([0; PAGE_BYTES]);
        if what == Protection::ReadWrite {
            for page in pages.iter().filter(|page| !self.twins.has(*page)) {
                hands.pages.read(page, &mut now).map_err(Trouble::Permit)?;
                changes.begin_home(page, seen, now.clone());
            }
            return Ok(());
        }
        for page in changes.written(pages.iter()) {
            // What was noted as written may still be read.
            let closed = hands.pages.permit(page, 1, Permission::Read);
            closed.map_err(Trouble::Permit)?;
            hands.pages.read(page, &mut now).map_err(Trouble::Permit)?;
            changes.end_home(page, &now);
        }
        Ok(())
    }

    /// The same for a copy, which has a twin now.
    pub(super) fn begin_copy(&mut self, page: PageId) {
        if let Some((changes, (seen, _))) = self.changes.as_mut().zip(self.protocol.clock()) {
            changes.begin_copy(page, seen);
        }
    }
}
