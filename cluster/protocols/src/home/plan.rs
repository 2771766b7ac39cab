//! What predictors see of a node, and what of their plans is possible.

use super::Home;
use super::page::Entry;
use crate::heuristics::{Event, Glance, Heuristic, View, possible};
use crate::table::Table;
use crate::{Access, Body, Interval, PageRange};
use fathomp_types::{NodeId, PageId};

/// A node as predictors see it.
pub(super) struct Sight<'a> {
    me: NodeId,
    epoch: u32,
    interval: Interval,
    table: &'a Table<Entry>,
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
            state: entry.state,
            at_home: entry.home == self.me,
            pinned: entry.pinned,
        })
    }

    /// All pages of a plan have the same home and state, and those beside the one at which a
    /// thread faults are not pinned.
    fn goes_with(&self, page: PageId, next: PageId) -> bool {
        let exists = next.0 < self.table.layout().pages();
        exists && {
            let (page, next) = (self.table.get(page), self.table.get(next));
            next.home == page.home && next.state == page.state && !next.pinned
        }
    }
}

impl<B: Clone + Body> Home<B> {
    /// The predictors, and what they may see.
    pub(super) fn predictor(&mut self) -> (&mut dyn Heuristic, Sight<'_>) {
        let sight = Sight {
            me: self.me,
            epoch: self.order.epoch,
            interval: self.order.interval,
            table: &self.table,
        };
        (self.predictors.get(), sight)
    }

    pub(super) fn note(&mut self, event: Event) {
        let (predictor, view) = self.predictor();
        predictor.note(event, &view);
    }

    /// Pages to deal with at a fault, as far as it is possible.
    pub(super) fn planned(&mut self, page: PageId, access: Access) -> PageRange {
        let (predictor, view) = self.predictor();
        possible(predictor.on_fault(page, access, &view), page, &view)
    }
}
