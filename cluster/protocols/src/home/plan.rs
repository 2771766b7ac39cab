//! What guesses see of a node, and what of their plans is possible.

use super::Home;
use super::page::Entry;
use crate::guess::{Event, Glance, Guess, Plan, View};
use crate::state::State;
use crate::table::Table;
use crate::{Access, Body, Interval, Offer};
use fathomp_types::{NodeId, PageId};

/// A node as guesses see it.
pub(super) struct Sight<'a> {
    me: NodeId,
    epoch: u32,
    interval: Interval,
    is_direct: bool,
    table: &'a Table<Entry>,
}

impl View for Sight<'_> {
    fn epoch(&self) -> u32 {
        self.epoch
    }

    fn interval(&self) -> Interval {
        self.interval
    }

    fn is_direct(&self) -> bool {
        self.is_direct
    }

    fn page(&self, page: PageId) -> Option<Glance> {
        let exists = page.0 < self.table.layout().pages();
        let entry = exists.then(|| self.table.get(page))?;
        Some(Glance {
            state: entry.state,
            at_home: entry.home == self.me,
            pinned: entry.pinned,
            borrowed: entry.borrowed,
            offer: entry.offer,
        })
    }

    /// All pages of a plan have the same home and state, and those beside the one at which a
    /// thread faults are not pinned. A page that is opened to writes at its home has to be
    /// offered, so that it can be offered again afterwards.
    fn goes_with(&self, page: PageId, next: PageId) -> bool {
        let exists = next.0 < self.table.layout().pages();
        exists && {
            let (page, next) = (self.table.get(page), self.table.get(next));
            let is_like = next.home == page.home && next.state == page.state && !next.pinned;
            let offered = next.state != State::Shared || !self.is_direct;
            is_like && (offered || next.offer == Offer::Open)
        }
    }
}

impl<B: Clone + Body> Home<B> {
    /// The guesses, and what they may see.
    pub(super) fn guess(&mut self) -> (&mut dyn Guess, Sight<'_>) {
        let sight = Sight {
            me: self.me,
            epoch: self.order.epoch,
            interval: self.order.interval,
            is_direct: self.config.is_direct(),
            table: &self.table,
        };
        (self.guesses.get(), sight)
    }

    pub(super) fn note(&mut self, event: Event) {
        let (guess, view) = self.guess();
        guess.note(event, &view);
    }

    /// What to do at a fault, as far as it is possible.
    pub(super) fn planned(&mut self, page: PageId, access: Access) -> Plan {
        let (guess, view) = self.guess();
        guess.on_fault(page, access, &view).possible(page, &view)
    }
}
