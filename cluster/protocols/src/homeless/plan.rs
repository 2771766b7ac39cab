//! What predictors see of a node. The only answer of theirs that is carried out says which whole
//! pages to fetch together.

use super::postponed::Postponed;
use super::{Entry, Homeless, State};
use crate::heuristics::{Arrival, Event, Glance, Heuristic, View, Why, possible};
use crate::table::Table;
use crate::{Access, Interval, PageRange, state};
use fathomp_types::{NodeId, PageId};

/// A node as predictors see it: an owner is a page's home.
struct Sight<'a> {
    me: NodeId,
    epoch: u32,
    interval: Interval,
    table: &'a Table<Entry>,
    postponed: &'a Postponed,
}

impl View for Sight<'_> {
    fn epoch(&self) -> u32 {
        self.epoch
    }

    fn interval(&self) -> Interval {
        self.interval
    }

    fn page(&self, page: PageId) -> Option<Glance> {
        let exists = page.0 < self.table.layout().pages();
        let entry = exists.then(|| self.table.get(page))?;
        Some(Glance {
            state: match entry.state {
                State::Untouched | State::Invalid | State::Held => state::State::Untouched,
                State::Pending => state::State::Pending,
                State::Valid => state::State::Clean,
                State::Writable => state::State::Dirty,
            },
            at_home: entry.owner == self.me,
            pinned: entry.pinned,
        })
    }

    /// Whole pages are fetched together from one owner.
    fn goes_with(&self, page: PageId, next: PageId) -> bool {
        // What threads may touch when it has come must have all that they have done.
        let exists = next.0 < self.table.layout().pages() && !self.postponed.has_of(next);
        exists && {
            let (page, next) = (self.table.get(page), self.table.get(next));
            let is_away = next.state == State::Untouched && !next.pinned;
            is_away && next.owner == page.owner
        }
    }
}

impl<B> Homeless<B> {
    /// The predictors, and what they may see.
    fn predictor(&mut self) -> (&mut dyn Heuristic, Sight<'_>) {
        let sight = Sight {
            me: self.me,
            epoch: self.order.epoch,
            interval: self.order.interval,
            table: &self.table,
            postponed: &self.postponed,
        };
        (self.predictors.get(), sight)
    }

    /// Whole pages to be fetched, as a thread waits for `page`, which is one of them.
    pub(super) fn planned(&mut self, page: PageId, access: Access) -> PageRange {
        let (predictor, view) = self.predictor();
        let plan = predictor.on_fault(page, access, &view);
        possible(plan, page, &view)
    }

    /// A whole page has arrived; threads wait to do this with it.
    pub(super) fn note_arrival(&mut self, page: PageId, wanted: Option<Access>) {
        let (predictor, view) = self.predictor();
        let arrival = Arrival {
            page,
            wanted,
            blank: false,
            begins_to_write: false,
        };
        predictor.on_arrival(&arrival, &view);
    }

    /// A thread begins to write a page.
    pub(super) fn note_written(&mut self, page: PageId) {
        let (predictor, view) = self.predictor();
        predictor.note(Event::Written(page), &view);
    }

    /// A copy is dropped because another node has written the page, alone, in the epoch that
    /// is over.
    pub(super) fn note_dropped(&mut self, page: PageId) {
        let (predictor, view) = self.predictor();
        let before = Sight {
            epoch: view.epoch - 1,
            ..view
        };
        predictor.note(Event::Dropped(page, Why::News), &before);
        predictor.note(Event::ToldAtBarrier(page, false), &before);
    }
}
