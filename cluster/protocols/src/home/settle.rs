//! What becomes of pages at home here when a barrier is over: those of which no other node has
//! a copy any more need not be watched.

use super::{Actions, Home};
use crate::state::State;
use crate::{Action, Body};
use fathomp_types::PageId;

impl<B: Clone + Body> Home<B> {
    /// No other node has a copy of these pages at home here. Returns which pages that are at home
    /// elsewhere to [fetch](Self::fetch_ahead) in the epoch that begins.
    #[must_use]
    pub(super) fn settle_pages(
        &mut self,
        pages: &[PageId],
        actions: &mut Actions<B>,
    ) -> Vec<PageId> {
        let (predictor, view) = self.predictor();
        let wanted = predictor.after_barrier(pages, &view);
        for page in pages {
            let entry = self.table.entry(*page);
            let before = std::mem::replace(&mut entry.state, State::Untouched);
            if before == State::Dirty {
                actions.push(Action::DropTwin(*page));
            }
            Action::protect(actions, *page, self.alone());
        }
        wanted
    }
}
