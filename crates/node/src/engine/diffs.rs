//! Twins and diffs: what pages were, what changed in them, and what changed elsewhere.

use super::{Blob, Driver, Hands, Trouble};
use fathomp_base::PageId;
use fathomp_dsm::{Diff, Protocol};
use fathomp_sys::clock::emulated::{self, Work};

impl<P: Protocol<Blob>> Driver<P> {
    /// What changed in a page since its twin was made, which is forgotten.
    pub(super) fn compare(&mut self, hands: &Hands, page: PageId) -> Result<Diff, Trouble> {
        let twin = self.twins.remove(page);
        let twin = twin.ok_or(Trouble::Action("a diff without a twin"))?;
        // The program may not write the page now, and others' diffs come in
        // under the same lock as this.
        let mut now = self.twins.room();
        hands.pages.read(page, &mut now).map_err(Trouble::Permit)?;
        let diff = Diff::between(&twin, &now);
        emulated::charge(Work::Compare);
        self.twins.keep(twin);
        self.twins.keep(now);
        Ok(diff)
    }

    /// Keeps what changed in a page until it has been sent.
    pub(super) fn diff(&mut self, hands: &Hands, page: PageId) -> Result<(), Trouble> {
        let diff = self.compare(hands, page)?;
        if let Some(changes) = &mut self.changes {
            changes.end_copy(page, &diff);
        }
        self.diffs.insert(page, diff);
        Ok(())
    }

    /// Keeps a copy of a page: one that is written now, and perhaps told soon, or one of
    /// many that will perhaps be written, far `ahead`.
    pub(super) fn twin(&mut self, hands: &Hands, page: PageId, ahead: bool) -> Result<(), Trouble> {
        let mut twin = self.twins.room();
        let kept = match ahead {
            true => hands.pages.keep(page, &mut twin),
            false => hands.pages.read(page, &mut twin),
        };
        kept.map_err(Trouble::Permit)?;
        self.twins.insert(page, twin);
        Ok(())
    }

    pub(super) fn apply(
        &mut self,
        hands: &Hands,
        page: PageId,
        diff: &Diff,
    ) -> Result<(), Trouble> {
        let mut failed = None;
        diff.visit(|target, bytes| {
            if let Err(error) = hands.pages.write(page, target.start, bytes) {
                failed = Some(error);
            }
        });
        if let Some(twin) = self.twins.get_mut(page) {
            diff.apply(twin);
        }
        if let Some(watch) = &mut self.watch {
            watch.apply(page, diff);
        }
        failed.map_or(Ok(()), |error| Err(Trouble::Permit(error)))
    }
}
