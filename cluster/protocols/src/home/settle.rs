//! What becomes of pages at home here when a barrier is over: those of which no other node has
//! a copy any more need not be watched.

use super::{Actions, Home};
use crate::guess::{Afterwards, Settled};
use crate::state::State;
use crate::{Action, Body, Offer, PageSet, Protection};
use fathomp_types::PageId;

impl<B: Clone + Body> Home<B> {
    /// No other node has a copy of these pages at home here: they were written in the epoch
    /// that is over, or, if true, will be in the next one. Returns which pages that are at home
    /// elsewhere to [fetch](Self::fetch_ahead) in the epoch that begins.
    #[must_use]
    pub(super) fn settle_pages(
        &mut self,
        pages: &[(PageId, bool)],
        actions: &mut Actions<B>,
    ) -> Vec<PageId> {
        let (me, table) = (self.me, &self.table);
        // Nor do they of pages that were updated: these were borrowed.
        self.updating.offered.retain(|(page, _)| {
            let entry = table.get(*page);
            let settled = pages.binary_search_by_key(page, |(page, _)| *page).is_ok();
            entry.offer == Offer::Updated && entry.home == me && !settled
        });
        let updated = std::mem::take(&mut self.updating.offered);
        let (guess, view) = self.guess();
        let settled = Settled {
            pages,
            updated: &updated,
        };
        let plan = guess.after_barrier(&settled, &view);
        let Afterwards {
            mut watch,
            mut lend,
            prepare,
            fetch,
        } = plan;
        let end = self.table.layout().pages();
        for planned in [&mut watch, &mut lend] {
            planned.retain(|page| page.0 < end);
            planned.sort_unstable();
            planned.dedup();
        }
        let is_planned = |pages: &[PageId], page: &PageId| pages.binary_search(page).is_ok();
        let (stopped, updated): (Vec<_>, Vec<_>) = updated
            .into_iter()
            .partition(|(page, _)| is_planned(&watch, page) || is_planned(&lend, page));
        self.updating.offered = updated;
        let settled = pages.iter().map(|(page, _)| *page);
        for page in settled.chain(stopped.into_iter().map(|(page, _)| page)) {
            let is_watched = is_planned(&watch, &page);
            self.settle_page(page, is_watched, actions);
        }
        for page in watch {
            let entry = self.table.get(page);
            if entry.home == self.me && entry.state == State::Untouched && !entry.pinned {
                self.watch(page, actions);
            }
        }
        for page in lend {
            if self.is_alone_with(page) {
                self.lend(page);
            }
        }
        if !self.config.watch_home {
            let prepare = prepare.into_iter().filter(|page| self.is_alone_with(*page));
            let prepare: PageSet = prepare.collect();
            actions.extend(prepare.ranges().iter().map(|pages| Action::Prepare(*pages)));
        }
        fetch
    }

    fn settle_page(&mut self, page: PageId, is_watched: bool, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        let before = std::mem::replace(&mut entry.state, State::Untouched);
        if before == State::Dirty {
            actions.push(Action::DropTwin(page));
        }
        match (is_watched, before) {
            // It was written at the barrier: that is told when the open interval ends.
            (true, State::Dirty) => {
                entry.state = State::Written;
                Action::protect(actions, page, Protection::ReadWrite);
                self.open(page);
            }
            (true, _) => self.watch(page, actions),
            (false, _) => {
                self.close(page);
                Action::protect(actions, page, self.alone());
            }
        }
    }

    /// Whether a page is at home here, and no other node has a copy to keep.
    fn is_alone_with(&self, page: PageId) -> bool {
        self.exists(page) && {
            let entry = self.table.get(page);
            entry.home == self.me && entry.state == State::Untouched
        }
    }
}
