//! Twins and diffs: what pages were, what changed in them, and what changed elsewhere.

use super::host::NodeError;
use super::machine::NodeMachine;
use fathomp_protocols::Diff;
use fathomp_types::PageId;

impl NodeMachine<'_> {
    /// What changed in a page since its twin was made, which is forgotten.
    pub(super) fn compare(&mut self, page: PageId) -> Result<Diff, NodeError> {
        let twins = &mut self.work.twins;
        let twin = twins.remove(page);
        let twin = twin.ok_or(NodeError::Action("a diff without a twin"))?;
        // The program may not write the page now, and others' diffs come in
        // under the same lock as this.
        let mut now = twins.room();
        self.host
            .pages
            .read(page, &mut now)
            .map_err(NodeError::Permit)?;
        let diff = Diff::between(&twin, &now);
        twins.keep(twin);
        twins.keep(now);
        Ok(diff)
    }

    /// Keeps a copy of a page: one that is written now, and perhaps told soon, or one of
    /// many that will perhaps be written, far `ahead`.
    pub(super) fn make_twin(&mut self, page: PageId, ahead: bool) -> Result<(), NodeError> {
        let mut twin = self.work.twins.room();
        let kept = match ahead {
            true => self.host.pages.keep(page, &mut twin),
            false => self.host.pages.read(page, &mut twin),
        };
        kept.map_err(NodeError::Permit)?;
        self.work.twins.insert(page, twin);
        Ok(())
    }

    /// Writes a diff into a page and its twin.
    pub(super) fn put_in(&mut self, page: PageId, diff: &Diff) -> Result<(), NodeError> {
        let mut failed = None;
        diff.visit(|target, bytes| {
            if let Err(error) = self.host.pages.write(page, target.start, bytes) {
                failed = Some(error);
            }
        });
        if let Some(twin) = self.work.twins.get_mut(page) {
            diff.apply(twin);
        }
        if self.work.observer.is_some() {
            self.observe_content(page, diff);
        }
        failed.map_or(Ok(()), |error| Err(NodeError::Permit(error)))
    }
}
